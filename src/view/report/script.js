(function () {
  var tip = document.createElement('div'), of;
  tip.id = 'tip';
  tip.hidden = true;
  document.body.append(tip);

  function text(e) {
    for (var n = e.target; n && n.querySelector; n = n.parentNode) {
      if (n.tip) return n.tip;
      var t = n.querySelector(':scope > title');
      if (t && n !== document.head) {
        n.tip = t.textContent;
        t.remove();
        return n.tip;
      }
    }
  }

  addEventListener('pointerover', function (e) {
    of = text(e);
    tip.hidden = !of;
    tip.textContent = of || '';
  });
  addEventListener('pointermove', function (e) {
    if (!of) return;
    var r = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(e.clientX + 14, innerWidth - r.width - 8)) + 'px';
    tip.style.top = (e.clientY + 18 + r.height > innerHeight
      ? e.clientY - r.height - 10
      : e.clientY + 18) + 'px';
  });
  document.documentElement.addEventListener('pointerleave', function () {
    tip.hidden = true;
  });
})();
