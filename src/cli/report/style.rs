//! The style of the report, in light, in dark and on paper, and the script that shows tooltips at
//! once.

use std::sync::LazyLock;

use crate::render::bar;
use crate::render::html::PALETTE;

/// The style sheet.
pub(super) static STYLE: LazyLock<String> =
    LazyLock::new(|| [PALETTE, bar::STYLE, REPORT].concat());

const REPORT: &str = r"
*{box-sizing:border-box}
body{margin:0 auto;max-width:1160px;padding:36px 28px 56px;background:var(--paper);color:var(--ink);
font:14px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;font-variant-numeric:tabular-nums}
body.several{max-width:1500px}
h1{font-size:27px;line-height:1.2;margin:0 0 6px;letter-spacing:-.01em;overflow-wrap:anywhere}
h2{font-size:19px;margin:46px 0 4px;padding-top:20px;border-top:1px solid var(--rule)}
h3{font-size:15px;margin:22px 0 2px;overflow-wrap:anywhere}h4{font-size:14px;margin:0 0 4px}
h5{font-size:12px;font-weight:600;color:var(--soft);margin:14px 0 0}
p{margin:0 0 8px;max-width:90ch;overflow-wrap:anywhere}.about{font-size:16px}.facts{max-width:none}.facts,.hint,.soft,small{color:var(--soft)}.hint{font-size:13px}
small,.soft{font-size:12.5px}footer{margin-top:48px;padding-top:14px;border-top:1px solid var(--rule);color:var(--soft);font-size:12.5px}
code{font:12.5px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(138px,1fr));gap:10px;margin:20px 0}
.tiles div{background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:10px 14px 9px}
.tiles dt{color:var(--soft);font-size:12.5px}.tiles dd{margin:0;font-size:23px;font-weight:600;line-height:1.35;white-space:nowrap}
.tiles small{font-weight:400}.tiles .bad dd{color:var(--hot)}
.two,.runs{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:8px 28px}
.card{background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:14px 16px 6px;min-width:0}
figure{margin:12px 0 0;min-width:0;break-inside:avoid}figcaption{display:flex;flex-wrap:wrap;gap:2px 18px;align-items:baseline}
figcaption b.what{font-size:13.5px}.key{color:var(--soft);font-size:12.5px;display:inline-flex;align-items:center;gap:6px;white-space:nowrap}
.shades{display:inline-flex;border-radius:2px;overflow:hidden}.shades i{width:13px;height:11px;display:block}
.plot{padding:28px 118px 26px 50px}.card .plot{padding:8px 14px 26px 44px}.two .plot .note{font-size:11px}.profiles .plot{padding:10px 8px 30px 46px}
svg{display:block}.key svg{display:inline-block}.chart,.mark,.name{overflow:visible}
svg text{font:11.5px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;fill:var(--soft);font-variant-numeric:tabular-nums}
.grid{stroke:var(--grid)}.tick{fill:var(--soft)}.note{fill:var(--soft)}
.zone{fill:var(--zone)}.zone-hot{fill:var(--zone-hot)}
.edge{stroke-width:1;stroke-dasharray:2 3}.edge.hot{stroke:var(--hot)}.edge.idle{stroke:var(--idle)}
svg .edge-name{pointer-events:none;font-size:11px;paint-order:stroke;stroke:var(--paper);stroke-width:3px;stroke-linejoin:round}.edge-name.hot{fill:var(--hot)}.edge-name.idle{fill:var(--idle)}
.line{fill:none;stroke:currentColor;stroke-width:1.6;stroke-linejoin:round;stroke-linecap:round;vector-effect:non-scaling-stroke}
.lines .line:hover{stroke-width:3.2}.was-hot{stroke-width:2.2}.halo .line{stroke:var(--halo);stroke-width:8;opacity:.34;pointer-events:none}
.dash1{stroke-dasharray:6 4}.dash2{stroke-dasharray:1.5 4}.faint .line{stroke-width:1.3;stroke-dasharray:3 3;opacity:.85}
.spread path{stroke:none;fill:var(--idle)}.outer{opacity:.14}.inner{opacity:.22}.median{stroke:var(--idle);stroke-width:2}.fullest{stroke:var(--hot);stroke-width:1.8}
.name text{fill:currentColor}.name path{fill:none;stroke:currentColor;opacity:.5}
.mark{fill:var(--paper);stroke:var(--mark);stroke-width:1.5}.mark.yes{fill:var(--mark);stroke:var(--paper);stroke-width:1.2}
.mark.no circle{fill:var(--paper);stroke:none}.mark.no path{stroke:var(--mark);stroke-width:2;fill:none}
.event line{stroke:var(--soft);stroke-dasharray:4 3}.event circle{fill:var(--soft)}svg .event text{fill:var(--paper);font-weight:600;font-size:10.5px}
.heat path{fill:none;stroke-width:1}.row{fill:transparent}.row:hover{fill:none;stroke:var(--ink);stroke-width:1}
path.h0{stroke:var(--h0)}path.h1{stroke:var(--h1)}path.h2{stroke:var(--h2)}path.h3{stroke:var(--h3)}path.h4{stroke:var(--h4)}
path.h5{stroke:var(--h5)}path.h6{stroke:var(--h6)}path.h7{stroke:var(--h7)}path.h8{stroke:var(--h8)}
i.h0{background:var(--h0)}i.h1{background:var(--h1)}i.h2{background:var(--h2)}i.h3{background:var(--h3)}i.h4{background:var(--h4)}
i.h5{background:var(--h5)}i.h6{background:var(--h6)}i.h7{background:var(--h7)}i.h8{background:var(--h8)}
.plain{--h0:color-mix(in srgb,var(--idle) 6%,var(--paper));--h1:color-mix(in srgb,var(--idle) 15%,var(--paper));--h2:color-mix(in srgb,var(--idle) 26%,var(--paper));
--h3:color-mix(in srgb,var(--idle) 38%,var(--paper));--h4:color-mix(in srgb,var(--idle) 50%,var(--paper));--h5:color-mix(in srgb,var(--idle) 62%,var(--paper));
--h6:color-mix(in srgb,var(--idle) 75%,var(--paper));--h7:color-mix(in srgb,var(--idle) 88%,var(--paper));--h8:var(--idle)}
.warm0{color:var(--warm0)}.warm1{color:var(--warm1)}.warm2{color:var(--warm2)}.warm3{color:var(--warm3)}
.cool0{color:var(--cool0)}.cool1{color:var(--cool1)}.cool2{color:var(--cool2)}.cool3{color:var(--cool3)}.cool4{color:var(--cool4)}.cool5{color:var(--cool5)}
.run0{color:var(--cool0)}.run1{color:var(--warm0)}.run2{color:var(--cool1)}.run3{color:var(--cool2)}
.dot{display:inline-block;width:9px;height:9px;border-radius:50%;background:currentColor;margin-right:7px}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:13px}th{text-align:left;font-weight:600}
thead th{color:var(--soft);font-weight:500;font-size:12.5px;border-bottom:1px solid var(--rule);padding:4px 10px 5px 0;vertical-align:bottom}
td,tbody th{padding:6px 10px 6px 0;border-bottom:1px solid var(--grid);vertical-align:top;overflow-wrap:anywhere}
.bars td,.bars tbody th{padding:2px 10px 2px 0;border:0;vertical-align:middle;font-weight:400;overflow-wrap:normal}.bars tbody th{white-space:nowrap}.bars td:nth-child(2){width:62%}
.figure,.when{white-space:nowrap}.figure{text-align:right!important}.when{color:var(--soft)}
.evictions{table-layout:fixed;min-width:860px}.c-time{width:64px}.c-pod{width:27%}.c-move{width:20%}.c-forecast{width:12%}.c-helped{width:116px}
.refusals td:nth-child(2){white-space:nowrap;overflow-wrap:normal}.refusals .figure{width:64px;padding-right:18px}
.yes::before{content:'● ';color:var(--idle)}.no{color:var(--hot)}.no::before{content:'✕ '}.unknown{color:var(--soft)}.unknown::before{content:'○ '}
svg.no::before{content:none}
.compare{max-width:900px}.compare td,.compare th{padding:6px 22px 6px 0}.compare tbody th{font-weight:400;color:var(--soft)}.compare td{font-weight:600;font-size:14px}
.compare td small{font-weight:400}.compare thead th{color:var(--ink);font-weight:600}.best::before{content:'▸ ';color:var(--idle)}
th:empty{padding:0!important}.figures td{font-size:13.5px}.figures tbody th{font-weight:400}
.events{margin:6px 0 0;padding-left:26px;font-size:13px;columns:2;column-gap:28px}.events li{break-inside:avoid}.events li::marker{color:var(--soft);font-weight:600}
details{margin-top:8px}summary{cursor:pointer;color:var(--idle);padding:6px 0}
#tip{position:fixed;z-index:9;pointer-events:none;max-width:380px;padding:6px 10px;border-radius:6px;background:var(--ink);color:var(--paper);
font-size:12.5px;line-height:1.4;white-space:pre-line;overflow-wrap:anywhere}
@media screen and (max-width:760px){body{padding:20px 14px 40px}h1{font-size:22px}.two,.runs{grid-template-columns:minmax(0,1fr)}.far,.odd{display:none}
.plot{padding:28px 84px 26px 42px}.tiles{grid-template-columns:repeat(2,minmax(0,1fr))}.events{columns:1}.bars td:nth-child(2){width:46%}}
@media print{body{max-width:none;padding:0;font-size:11px;print-color-adjust:exact;-webkit-print-color-adjust:exact}h2{break-after:avoid}.wide{overflow:visible}.evictions{min-width:0}
.two{grid-template-columns:minmax(0,1fr)}tr,.card,.tiles div{break-inside:avoid}details::details-content{content-visibility:visible;block-size:auto}summary{display:none}}
";

/// Shows tooltips at once, also on touch screens. Without this script the browser shows its own
/// tooltips after a delay.
pub(super) const SCRIPT: &str = r"
(function(){var tip=document.createElement('div'),of;tip.id='tip';tip.hidden=true;document.body.append(tip);
function text(e){for(var n=e.target;n&&n.querySelector;n=n.parentNode){if(n.tip)return n.tip;
var t=n.querySelector(':scope > title');if(t&&n!==document.head){n.tip=t.textContent;t.remove();return n.tip}}}
addEventListener('pointerover',function(e){of=text(e);tip.hidden=!of;tip.textContent=of||''});
addEventListener('pointermove',function(e){if(!of)return;var r=tip.getBoundingClientRect();
tip.style.left=Math.max(4,Math.min(e.clientX+14,innerWidth-r.width-8))+'px';
tip.style.top=(e.clientY+18+r.height>innerHeight?e.clientY-r.height-10:e.clientY+18)+'px'});
document.documentElement.addEventListener('pointerleave',function(){tip.hidden=true})})();
";
