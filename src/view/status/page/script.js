(function () {
  'use strict';
  var busy = false, lost = document.getElementById('lost'), live = document.getElementById('live');

  function each(of, what, then) {
    Array.prototype.forEach.call(of.querySelectorAll(what), then);
  }

  function swap(page) {
    var at = document.activeElement && document.activeElement.closest('[id]'), was = {};
    each(document, 'details[id]', function (d) {
      was[d.id] = d.open;
    });
    each(document, '.wide[id]', function (w) {
      was[w.id] = w.scrollLeft;
    });
    each(page, 'details[id]', function (d) {
      if (d.id in was) d.open = was[d.id];
    });
    var x = scrollX, y = scrollY;
    ['brand', 'facts', 'main', 'foot'].forEach(function (id) {
      var old = document.getElementById(id), now = page.getElementById(id);
      if (old && now) old.replaceWith(document.adoptNode(now));
    });
    each(document, '.wide[id]', function (w) {
      if (was[w.id]) w.scrollLeft = was[w.id];
    });
    scrollTo(x, y);
    if (at && !at.isConnected) {
      var again = document.getElementById(at.id);
      if (again) (again.querySelector('summary') || again).focus({ preventScroll: true });
    }
    var head = document.getElementById('headline'), next = page.getElementById('headline');
    head.className = next.className;
    if (head.textContent !== next.textContent) head.textContent = next.textContent;
    document.title = page.title;
    mark();
  }

  function mark() {
    live = document.getElementById('live');
    if (live) live.textContent = ', refreshed every 5 s';
  }

  function refresh() {
    if (busy || document.hidden || !getSelection().isCollapsed) return;
    busy = true;
    fetch(location.href, { cache: 'no-store' }).then(function (a) {
      if (!a.ok) throw new Error('status ' + a.status);
      return a.text();
    })
      .then(function (text) {
        swap(new DOMParser().parseFromString(text, 'text/html'));
        lost.hidden = true;
        since = null;
      })
      .catch(function (e) {
        since = since || new Date();
        lost.hidden = false;
        lost.textContent = 'No answer since ' + since.toLocaleTimeString()
          + ': this page is out of date. ' + e.message;
      })
      .finally(function () {
        busy = false;
      });
  }

  var since = null;
  mark();
  setInterval(refresh, 5000);
  document.addEventListener('visibilitychange', refresh);
})();
