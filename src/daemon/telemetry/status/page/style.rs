//! The style of the page, and the script that replaces it with a newer one.

use std::sync::LazyLock;

use crate::render::bar;
use crate::render::html::PALETTE;

/// The style sheet.
pub(super) static STYLE: LazyLock<String> = LazyLock::new(|| [PALETTE, bar::STYLE, PAGE].concat());

const PAGE: &str = r"
*{box-sizing:border-box}
body{margin:0 auto;max-width:1240px;padding:22px 28px 48px;background:var(--paper);color:var(--ink);
font:14px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;font-variant-numeric:tabular-nums}
p{margin:0 0 8px;overflow-wrap:anywhere}a{color:var(--idle)}
.brand{color:var(--soft);font-size:13px;margin:0 0 10px}.brand b{color:var(--ink)}
.badge{border:1px solid var(--rule);border-radius:999px;padding:1px 9px;margin-left:6px;color:var(--ink);background:var(--card)}
h1{font-size:24px;line-height:1.25;margin:0 0 6px;letter-spacing:-.01em;overflow-wrap:anywhere;max-width:60ch;border-left:5px solid var(--even);padding-left:14px}
h1.uneven,h1.unpacked,h1.moving,h1.would-move{border-color:var(--h6)}h1.even,h1.packed,h1.idle{border-color:var(--idle)}
h1.failed,h1.halted,h1.stuck,h1.waiting,h1.blind{border-color:var(--hot)}
h2{font-size:18px;margin:34px 0 6px;padding-top:16px;border-top:1px solid var(--rule)}h3{font-size:15px;margin:18px 0 4px}
.facts,.hint,.soft,small,.when,footer{color:var(--soft)}.facts b{color:var(--ink)}.hint,footer{font-size:13px;max-width:100ch}
small{display:block;font-size:12.5px;font-weight:400}code{font:12.5px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
footer{margin-top:40px;padding-top:14px;border-top:1px solid var(--rule)}
#lost,.notice{border-left:5px solid var(--hot);background:var(--zone-hot);padding:8px 14px;margin:0 0 14px}
.bad{color:var(--hot)}.bad::before{content:'✕ '}.done::before{content:'● ';color:var(--idle)}
b.bad::before{content:none}
.tally{list-style:none;margin:0 0 8px;padding:0;display:flex;flex-wrap:wrap;gap:6px 18px}.tally b{font-size:17px}
.tag{display:inline-block;border-radius:4px;padding:0 7px;font-size:12.5px;font-weight:600;border:1px solid var(--rule);white-space:nowrap}
.tag.hot{background:var(--h7);border-color:var(--h7);color:var(--paper)}.tag.warn{border-color:var(--hot);color:var(--hot)}
.tag.idle{border-color:var(--idle);color:var(--idle)}.tag.other{color:var(--soft)}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:13px;margin:2px 0 6px}
th{text-align:left;font-weight:600}thead th{color:var(--soft);font-weight:500;font-size:12.5px;border-bottom:1px solid var(--rule);padding:4px 14px 5px 0;vertical-align:bottom}
td,tbody th{padding:6px 14px 6px 0;border-bottom:1px solid var(--grid);vertical-align:top;overflow-wrap:anywhere}thead th{overflow-wrap:anywhere}.facts b.bad{color:var(--hot)}
.rows{min-width:720px}.rows thead th{overflow-wrap:normal}time{white-space:nowrap}.rows tbody th{min-width:110px}.when{white-space:nowrap}tbody th.when{font-weight:400}
.nodes{table-layout:fixed}.nodes th:first-child{width:17%}.nodes .class{width:27%}.nodes thead th:nth-child(2){width:27%}
.nodes td,.nodes tbody th{padding-top:5px;padding-bottom:4px}
.figures{display:block;font-size:12.5px;color:var(--soft);line-height:1.3}.figures b{color:var(--ink)}.narrow{display:none}
svg{display:block;overflow:visible}.key svg{display:inline-block}
svg text{font:11.5px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;fill:var(--soft);font-variant-numeric:tabular-nums}
.grid{stroke:var(--grid)}.plot{padding:10px 8px 26px 46px}figure{margin:8px 0 4px}figcaption{font-size:13px}
.key{color:var(--soft);font-size:12.5px;display:inline-flex;align-items:center;gap:6px;white-space:nowrap;margin-left:14px}
.line{fill:none;stroke-width:1.8;stroke-linejoin:round;stroke-linecap:round;vector-effect:non-scaling-stroke}
.l0{stroke:var(--cool0)}.l1{stroke:var(--warm1);stroke-dasharray:6 4}.l2{stroke:var(--cool1);stroke-dasharray:1.5 4}.l3{stroke:var(--warm2);stroke-dasharray:9 3 2 3}
.mark{fill:var(--mark);stroke:var(--paper);stroke-width:1.2}
details{border-bottom:1px solid var(--grid)}summary{cursor:pointer;padding:6px 0;overflow-wrap:anywhere}summary code{margin:0 6px}
.notes{margin:4px 0 8px;padding-left:20px}
.sr{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}.sr,.figures{position:relative}.sr{position:absolute}
:focus-visible{outline:2px solid var(--idle);outline-offset:2px}
@media (max-width:760px){body{padding:16px 14px 36px}h1{font-size:20px}
.nodes,.nodes tbody,.nodes tr,.nodes th,.nodes td{display:block;width:auto!important}.nodes thead{position:absolute;clip-path:inset(50%);height:1px;overflow:hidden}
.nodes tr{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:2px 14px;padding:8px 0;border-bottom:1px solid var(--grid)}
.nodes tbody th,.nodes td{border:0;padding:0}.nodes .class{grid-column:1/-1}.nodes tbody th{grid-column:1/-1}.narrow{display:inline}}
@media print{details::details-content{content-visibility:visible;block-size:auto}}
";

/// Fetches the page every five seconds while the tab is visible, and replaces the sections of the
/// old page with the new ones. Open folds stay open, scroll positions stay, and nothing is replaced
/// while text is selected.
pub(super) const SCRIPT: &str = r"
(function(){'use strict';var busy=false,lost=document.getElementById('lost'),live=document.getElementById('live');
function each(of,what,then){Array.prototype.forEach.call(of.querySelectorAll(what),then)}
function swap(page){var at=document.activeElement&&document.activeElement.closest('[id]'),was={};
each(document,'details[id]',function(d){was[d.id]=d.open});each(document,'.wide[id]',function(w){was[w.id]=w.scrollLeft});
each(page,'details[id]',function(d){if(d.id in was)d.open=was[d.id]});
var x=scrollX,y=scrollY;['brand','facts','main','foot'].forEach(function(id){var old=document.getElementById(id),now=page.getElementById(id);
if(old&&now)old.replaceWith(document.adoptNode(now))});
each(document,'.wide[id]',function(w){if(was[w.id])w.scrollLeft=was[w.id]});scrollTo(x,y);
if(at&&!at.isConnected){var again=document.getElementById(at.id);if(again)(again.querySelector('summary')||again).focus({preventScroll:true})}
var head=document.getElementById('headline'),next=page.getElementById('headline');
head.className=next.className;if(head.textContent!==next.textContent)head.textContent=next.textContent;document.title=page.title;mark()}
function mark(){live=document.getElementById('live');if(live)live.textContent=', refreshed every 5 s'}
function refresh(){if(busy||document.hidden||!getSelection().isCollapsed)return;busy=true;
fetch(location.href,{cache:'no-store'}).then(function(a){if(!a.ok)throw new Error('status '+a.status);return a.text()})
.then(function(text){swap(new DOMParser().parseFromString(text,'text/html'));lost.hidden=true;since=null})
.catch(function(e){since=since||new Date();lost.hidden=false;lost.textContent='No answer since '+since.toLocaleTimeString()+': this page is out of date. '+e.message})
.finally(function(){busy=false})}
var since=null;mark();setInterval(refresh,5000);document.addEventListener('visibilitychange',refresh)})();
";
