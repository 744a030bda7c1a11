// Groups and the map: choose items, see what an edit would do, apply it, take it back.
import {h, icon, translator} from './ask.js';
import {$, $$, api, base, request, say, toast, uuid} from './shell.js';

const data = JSON.parse($('#gallery-data').textContent), t = translator(data.strings);
const groups = new Map(data.groups.map(group => [group.id, group])),
      nameOf = id => groups.get(id)?.name ?? t('group.none');
const picks = new Map();  // id of an item -> id of its group
const bar = $('#pick-bar');

// ---------------------------------------------------------------- choosing
function chosen() {
  if (!bar) return;
  bar.hidden = !picks.size;
  $('#n-picked').textContent = t('pick.chosen', {n: picks.size});
  const from = [...new Set(picks.values())];
  $('#from-picked').textContent =
    from.length && from.length < 6 ? t('pick.from', {groups: from.map(nameOf).join(', ')}) : '';
  $('[data-do=merge]').disabled = from.length < 2;
  $('[data-do=split]').disabled = $('[data-do=not_in]').disabled = from.length !== 1 || from[0] < 0;
}
function pick(id, group, on) {
  on ? picks.set(id, group) : picks.delete(id);
  $$(`.pick[data-id="${CSS.escape(id)}"]`).forEach(button => button.setAttribute('aria-pressed', on));
}
let anchor = null;
document.addEventListener('click', event => {
  const button = event.target.closest('.pick');
  if (!button) return;
  const all = $$('.pick'), on = button.getAttribute('aria-pressed') !== 'true';
  if (event.shiftKey && anchor?.isConnected) {
    const [a, b] = [all.indexOf(anchor), all.indexOf(button)].sort((x, y) => x - y);
    all.slice(a, b + 1).forEach(one => pick(one.dataset.id, Number(one.dataset.group), true));
  } else pick(button.dataset.id, Number(button.dataset.group), on);
  anchor = button;
  chosen();
  say($('#n-picked').textContent);
});
export function clear() {
  for (const id of [...picks.keys()]) pick(id, 0, false);
  map?.clear();
  chosen();
}
$('#clear')?.addEventListener('click', clear);
addEventListener('keydown', event => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.repeat ||
    event.target.closest('input, textarea, select, dialog'))
    return;
  const key = event.key.toLowerCase();
  if (key === 'escape' && picks.size) clear();
  const button = picks.size && {m: 'move', j: 'merge', x: 'split'}[key];
  if (button && !$(`[data-do=${button}]`).disabled) {
    event.preventDefault();
    $(`[data-do=${button}]`).click();
  }
  const here = document.activeElement.closest?.('.pick'), step = {arrowright: 1, arrowleft: -1}[key];
  if (here && step) {
    const all = $$('.pick');
    all[all.indexOf(here) + step]?.focus();
    event.preventDefault();
  }
});

// ---------------------------------------------------------------- edits, previewed
function examples(group, without = new Set()) {
  return (groups.get(group)?.examples ?? []).filter(id => !without.has(id));
}
function editOf(kind, target) {  // the edits that an action stands for
  const items = [...picks.keys()], mine = new Set(items), from = [...new Set(picks.values())];
  if (kind === 'move') return [{kind, items, target: examples(target, mine)}];
  if (kind === 'merge')
    return from.slice(1).map(group => ({kind, items: examples(from[0]), target: examples(group)}));
  if (kind === 'split' || kind === 'not_in') return [{kind, items, target: examples(from[0], mine)}];
  return [{kind, items, target: []}];
}
const date = at => new Date(at).toLocaleDateString('en', {day: 'numeric', month: 'short'});
function consequence(preview, edit) {  // what would move, what it contradicts
  const moves = preview.moves ?? [], against = preview.contradicts ?? [];
  const list = [h('li', {}, t(moves.length ? 'preview.moves' : 'preview.none', {n: moves.length}))];
  if (against.length) {
    const first = against[0],
          who = typeof first === 'object' ?
      t('preview.who',
        {who: first.annotator || '–', said: first.said ?? '', when: first.at ? date(first.at) : ''}) :
      '';
    list.push(h('li', {}, icon('diff', 'link-ico'), ` ${t('preview.against', {n: against.length})} ${who}`));
  } else list.push(h('li', {}, t('preview.agrees')));
  return list;
}
async function preview(edits, list, button) {
  button.disabled = true;
  list.replaceChildren(h('li', {class: 'faint'}, t('preview.wait')));
  try {
    const found = [];
    for (const edit of edits) {
      let reply = await request(`${api}/edits`, 'POST', {...edit, preview: true});
      while (reply.status === 'waiting' || reply.status === 'running') {
        await new Promise(resolve => setTimeout(resolve, 400));
        if (!list.isConnected) return;
        reply = await request(`${api}/jobs/${reply.job}`);
      }
      if (reply.status === 'failed') throw new Error(reply.error ?? '');
      found.push(...consequence(reply.result ?? {}, edit));
    }
    list.replaceChildren(...found);
    button.disabled = false;
  } catch (problem) {
    list.replaceChildren(h('li', {}, t('preview.failed', {why: problem.message})));
    button.disabled = false;
  }
}
function ask(kind, fixed) {
  const n = picks.size, heading = h('h2', {id: 'edit-h'}), list = h('ul', {class: 'list'}),
        error = h('p', {class: 'error', role: 'alert'});
  const go = h('button', {class: 'btn main', value: 'go'}),
        needsTarget = kind === 'move' && fixed === undefined;
  const from = new Set(picks.values()),
        select = h('select', {'aria-label': t('edit.target')},
          ...[...groups.values()]
            .filter(group => group.id >= 0 && !(from.size === 1 && from.has(group.id)))
            .map(group => h('option', {value: group.id}, `${group.name} (${group.n.toLocaleString('en')})`)));
  const target = () => fixed ?? (needsTarget ? Number(select.value) : undefined);
  const words = () => {
    const values = {n, target: nameOf(target()), from: [...from].map(nameOf).join(t('and'))};
    heading.textContent = t(`edit.${kind}.ask`, values);
    go.textContent = t(`edit.${kind}.go`, values);
    return t(`edit.${kind}.done`, values);
  };
  const form = h('form', {method: 'dialog', class: 'stack'},
    needsTarget && h('label', {class: 'field'}, t('edit.target'), select), list,
    h('p', {class: 'faint'}, t('edit.kept')), error,
    h('div', {class: 'row'}, h('button', {class: 'btn', value: 'cancel', formnovalidate: true}, t('cancel')),
      go));
  const box = h('dialog', {'aria-labelledby': 'edit-h'}, heading, form);
  let edits = [];
  const show = () => {
    words();
    edits = editOf(kind, target());
    preview(edits, list, go);
  };
  select.addEventListener('change', show);
  form.addEventListener('submit', async event => {
    if (event.submitter?.value !== 'go') return;
    event.preventDefault();
    go.disabled = true;
    try {
      const ids = [], done = words();
      for (const edit of edits) {
        const id = uuid();
        await request(`${api}/edits`, 'POST', {...edit, base_revision: data.revision, submission_id: id});
        ids.push(id);
      }
      box.close();
      clear();
      sessionStorage.setItem('clew-edit', JSON.stringify({words: done, ids}));
      offerUndo();
      renew(3000);
    } catch (problem) {
      error.textContent = problem.message;
      go.disabled = false;
    }
  });
  box.addEventListener('close', () => box.remove());
  document.body.append(box);
  box.showModal();
  show();
}
function offerUndo() {
  const last = JSON.parse(sessionStorage.getItem('clew-edit') ?? 'null');
  if (!last) return;
  toast(last.words, async () => {
    for (const id of last.ids) await request(`${api}/answers/${id}`, 'DELETE');
    sessionStorage.removeItem('clew-edit');
    toast(t('edit.undone'));
    renew(3000);
  });
}
$$('[data-do]').forEach(button => button.addEventListener('click', () => ask(button.dataset.do)));
$('#merge-with')?.addEventListener('click', () => {  // the whole group into another
  const here = data.group;
  picks.clear();
  examples(here).forEach(id => pick(id, here, true));
  chosen();
  ask('move');
});
$('#lock')?.addEventListener('click', () => {
  picks.clear();
  data.members.forEach(id => picks.set(id, data.group));
  ask('lock');
});
$('#resplit')?.addEventListener('click', async event => {
  event.target.disabled = true;
  toast(t('group.resplit.asked'));
  try {
    let reply = await request(`${api}/recluster`, 'POST', {group: data.group});
    while (reply.status === 'waiting' || reply.status === 'running') {
      await new Promise(resolve => setTimeout(resolve, 400));
      reply = await request(`${api}/jobs/${reply.job}`);
    }
    if (reply.status === 'failed') throw new Error(reply.error);
    offerParts(reply.result.parts ?? []);
  } catch (problem) { toast(problem.message); }
  event.target.disabled = false;
});
function offerParts(parts) {  // the parts of a group: choose one, then split it off
  const box =
    h('dialog', {'aria-labelledby': 'parts-h'}, h('h2', {id: 'parts-h'}, t('group.parts', {n: parts.length})),
      h('ul', {class: 'list'},
        ...parts.map((ids, i) => h('li', {class: 'row'},
                       h('span', {class: 'minis grow'},
                         ...ids.slice(0, 4).map(
                           id => h('span', {class: 'mini'},
                             h('img', {src: `${api}/media/${encodeURIComponent(id)}?size=160`, alt: ''})))),
                       h('button', {
                         class: 'btn',
                         type: 'button',
                         onclick: () => {
                           box.close();
                           picks.clear();
                           ids.forEach(id => pick(id, data.group, true));
                           chosen();
                           ask('split');
                         }
                       },
                         t('group.part', {n: ids.length, i: i + 1}))))),
      h('form', {method: 'dialog', class: 'row'}, h('button', {class: 'btn'}, t('close'))));
  box.addEventListener('close', () => box.remove());
  document.body.append(box);
  box.showModal();
}

// ---------------------------------------------------------------- names
$$('.name-it, #rename').forEach(button => button.addEventListener('click', () => {
  const id = Number(button.dataset.group),
        input = h('input', {maxlength: 200, dir: 'auto', value: groups.get(id)?.named ?? ''}),
        error = h('p', {class: 'error', role: 'alert'});
  const form =
    h('form', {method: 'dialog', class: 'stack'}, h('label', {class: 'field'}, t('group.name'), input),
      h('p', {class: 'faint'}, t('group.name.nobody')), error,
      h('div', {class: 'row'}, h('button', {class: 'btn', value: 'cancel'}, t('cancel')),
        h('button', {class: 'btn main', value: 'go'}, t('group.name.go'))));
  const box = h('dialog', {'aria-labelledby': 'name-h'}, h('h2', {id: 'name-h'}, t('group.name.ask')), form);
  form.addEventListener('submit', async event => {
    if (event.submitter?.value !== 'go') return;
    event.preventDefault();
    try {
      await request(`${api}/groups/${id}`, 'PATCH', {name: input.value.trim()});
      location.reload();
    } catch (problem) { error.textContent = problem.message; }
  });
  box.addEventListener('close', () => box.remove());
  document.body.append(box);
  box.showModal();
  input.focus();
}));

// ---------------------------------------------------------------- more of a group, as one scrolls
const more = $('#more');
let loading = false;
async function loadMore() {
  if (!more || loading || !more.dataset.after) return;
  loading = true;
  const reply =
    await request(`${api}/groups/${data.group}?after=${more.dataset.after}&limit=120`).catch(problem => {
      toast(problem.message);
      return null;
    });
  loading = false;
  if (!reply) return;
  const list = h('ul', {class: 'strand wrap chunk'},
    ...reply.items.map((item, i) => strung(item, Number(more.dataset.after) + i)));
  $('#rest').append(list);
  more.dataset.after = reply.next ?? '';
  more.hidden = !reply.next;
  if (reply.next) more.textContent = t('group.more', {n: reply.n_items - reply.next});
}
function strung(item, i) {
  const words = {knot: t('thread.knot'), fair: t('thread.fair'), doubt: t('thread.doubt')}[item.line];
  const label = `${nameOf(data.group)} ${i + 1}${words ? `, ${words}` : ''}`;
  const face = item.url ? h('img', {src: item.url, alt: '', loading: 'lazy', decoding: 'async'}) :
                          h('span', {class: 'scrap', dir: 'auto'},
                            item.text ?? (item.columns ?? []).map(([k, v]) => `${k}: ${v}`).join('\n'));
  return h('li', {class: item.line},
    h('button', {
      class: 'pick',
      type: 'button',
      'aria-pressed': picks.has(item.id),
      'aria-label': label,
      'data-id': item.id,
      'data-group': data.group
    },
      face, h('span', {class: 'tick'}, icon('check'))),
    h('span', {class: 'cap'}, `${Math.round(100 * item.confidence)} %`));
}
if (more) {
  more.addEventListener('click', loadMore);
  new IntersectionObserver(seen => {
    if (seen.some(one => one.isIntersecting) && more.dataset.started) loadMore();
  }, {rootMargin: '600px'}).observe(more);
  more.addEventListener('click', () => { more.dataset.started = 'yes'; });
}

// ---------------------------------------------------------------- news
let renewing = 0;
const renew = ms => {
  renewing = Date.now() + 20000;
  setTimeout(() => {
    if (renewing && !$('dialog[open]') && !picks.size) location.reload();
  }, ms);
};
const source = new EventSource(`${api}/events`);
source.addEventListener('revision', event => {
  const {revision} = JSON.parse(event.data);
  if (revision !== data.revision && Date.now() < renewing && !picks.size && !$('dialog[open]'))
    location.reload();
  else if (revision !== data.revision && $('#news')) $('#news').hidden = false;
});
addEventListener('pagehide', () => source.close());
offerUndo();
setTimeout(() => sessionStorage.removeItem('clew-edit'), 12000);

// ---------------------------------------------------------------- the map: grey points, one thread round
// each group
const canvas = $('#map-canvas');
const map = canvas && (() => {
  const points = [], ctx = canvas.getContext('2d', {alpha: true}), view = {k: 1, x: 0, y: 0};
  let W = 0, H = 0, lasso = [], tool = 'lasso', hulls = [], colors = {};
  const color = name => {
    const probe = h('i');
    probe.style.color = `var(${name})`;
    document.body.append(probe);
    const value = getComputedStyle(probe).color;
    probe.remove();
    return value;
  };
  const X = p => (p.x * .92 + .04) * W * view.k + view.x, Y = p => (p.y * .9 + .05) * H * view.k + view.y;
  function hull(list) {
    const sorted = list.slice().sort((a, b) => a.x - b.x || a.y - b.y),
          cross = (o, a, b) => (a.x - o.x) * (b.y - o.y) - (a.y - o.y) * (b.x - o.x);
    const half = many => {
      const out = [];
      for (const p of many) {
        while (out.length > 1 && cross(out.at(-2), out.at(-1), p) <= 0) out.pop();
        out.push(p);
      }
      out.pop();
      return out;
    };
    return [...half(sorted), ...half(sorted.reverse())];
  }
  function size() {
    const r = canvas.getBoundingClientRect(), dpr = devicePixelRatio || 1;
    W = r.width;
    H = r.height;
    canvas.width = W * dpr;
    canvas.height = H * dpr;
    ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
    colors = {ink: color('--ink'), ink3: color('--ink-3'), thread: color('--thread'), card: color('--card')};
  }
  function backdrop() {  // all that does not change while a lasso is drawn
    ctx.clearRect(0, 0, W, H);
    ctx.lineJoin = ctx.lineCap = 'round';
    ctx.strokeStyle = colors.thread;
    ctx.lineWidth = 1.5;
    for (const one of hulls) {
      const q = one.hull;
      ctx.beginPath();
      q.forEach((p, i) => {
        const n = q[(i + 1) % q.length], mx = (X(p) + X(n)) / 2, my = (Y(p) + Y(n)) / 2;
        i ? ctx.quadraticCurveTo(X(p), Y(p), mx, my) : ctx.moveTo(mx, my);
      });
      ctx.quadraticCurveTo(X(q[0]), Y(q[0]), (X(q[0]) + X(q[1])) / 2, (Y(q[0]) + Y(q[1])) / 2);
      ctx.stroke();
    }
    ctx.fillStyle = colors.ink3;
    ctx.globalAlpha = .6;
    for (const p of points)
      if (p.line !== 'doubt') ctx.fillRect(X(p) - 1.2, Y(p) - 1.2, 2.4, 2.4);
    ctx.globalAlpha = 1;
    ctx.strokeStyle = colors.ink;
    ctx.lineWidth = 1.25;
    ctx.beginPath();
    for (const p of points)
      if (p.line === 'doubt') {
        const x = X(p), y = Y(p);
        ctx.moveTo(x - 3, y - 3);
        ctx.lineTo(x + 3, y + 3);
        ctx.moveTo(x + 3, y - 3);
        ctx.lineTo(x - 3, y + 3);
      }
    ctx.stroke();
  }
  function draw() {
    if (!W) size();
    backdrop();
    ctx.fillStyle = colors.thread;
    for (const p of points)
      if (picks.has(p.id)) {
        ctx.beginPath();
        ctx.arc(X(p), Y(p), 2.4, 0, 7);
        ctx.fill();
      }
    for (const p of points)
      if (p.line === 'knot') {
        ctx.beginPath();
        ctx.arc(X(p), Y(p), 5, 0, 7);
        ctx.fillStyle = colors.card;
        ctx.fill();
        ctx.strokeStyle = colors.ink;
        ctx.lineWidth = 2;
        ctx.stroke();
      }
    ctx.font = `600 13px ${getComputedStyle(document.body).fontFamily}`;
    ctx.textAlign = 'center';
    ctx.textBaseline = 'middle';
    for (const one of hulls) {
      const top = one.hull.reduce((a, b) => b.y < a.y ? b : a),
            words = `${nameOf(one.group)} ${one.n.toLocaleString('en')}`,
            w = ctx.measureText(words).width + 14, x = Math.min(W - w / 2, Math.max(w / 2, X(top))),
            y = Math.max(14, Y(top) - 2);
      ctx.fillStyle = colors.card;
      ctx.fillRect(x - w / 2, y - 11, w, 22);
      ctx.fillStyle = colors.ink;
      ctx.fillText(words, x, y);
    }
    if (lasso.length > 1) {
      ctx.strokeStyle = colors.ink;
      ctx.lineWidth = 1.5;
      ctx.setLineDash([5, 4]);
      ctx.beginPath();
      lasso.forEach((q, i) => i ? ctx.lineTo(q[0], q[1]) : ctx.moveTo(q[0], q[1]));
      ctx.closePath();
      ctx.stroke();
      ctx.setLineDash([]);
    }
  }
  let due = 0;
  const soon = () => {
    if (!due)
      due = requestAnimationFrame(() => {
        due = 0;
        draw();
      });
  };
  const inside = (x, y) => {
    let on = false;
    for (let i = 0, j = lasso.length - 1; i < lasso.length; j = i++) {
      const [a, b] = lasso[i], [c, d] = lasso[j];
      if (b > y !== d > y && x < (c - a) * (y - b) / (d - b) + a) on = !on;
    }
    return on;
  };
  function table() {
    const rows = (picks.size ? points.filter(p => picks.has(p.id)) : points)
                   .slice()
                   .sort((a, b) => a.sure - b.sure)
                   .slice(0, 40);
    $('#twin-note').textContent = picks.size > 40 ? t('map.least.chosen', {n: picks.size}) :
      picks.size                                  ? t('pick.chosen', {n: picks.size}) :
                                                    t('map.least', {n: Math.min(40, points.length)});
    $('#twin-body').replaceChildren(...rows.map(p => {
      const check =
        h('input', {type: 'checkbox', checked: picks.has(p.id), 'aria-label': t('map.choose', {id: p.id})});
      check.addEventListener('change', () => {
        pick(p.id, p.group, check.checked);
        chosen();
        soon();
      });
      return h('tr', {}, h('td', {}, h('label', {class: 'check'}, check)),
        h('td', {class: 'mono', dir: 'auto'}, p.id),
        h('td', {dir: 'auto'}, `${nameOf(p.group)}${p.line === 'doubt' ? ' ×' : ''}`),
        h('td', {class: 'num'}, `${Math.round(100 * p.sure)} %`));
    }));
  }
  let down = null;
  canvas.addEventListener('pointerdown', event => {
    down = [event.offsetX, event.offsetY];
    if (tool === 'lasso') lasso = [down];
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', event => {
    if (!down) return;
    if (tool === 'lasso') lasso.push([event.offsetX, event.offsetY]);
    else {
      view.x += event.offsetX - down[0];
      view.y += event.offsetY - down[1];
      down = [event.offsetX, event.offsetY];
    }
    soon();
  });
  canvas.addEventListener('pointerup', () => {
    down = null;
    if (tool !== 'lasso') return;
    picks.clear();
    if (lasso.length > 2)
      for (const p of points)
        if (inside(X(p), Y(p))) picks.set(p.id, p.group);
    lasso = picks.size ? lasso : [];
    draw();
    table();
    chosen();
    say($('#n-picked').textContent);
  });
  canvas.addEventListener('wheel', event => {
    event.preventDefault();
    const k = Math.min(40, Math.max(.5, view.k * Math.exp(-event.deltaY / 500)));
    view.x = event.offsetX - (event.offsetX - view.x) * k / view.k;
    view.y = event.offsetY - (event.offsetY - view.y) * k / view.k;
    view.k = k;
    soon();
  }, {passive: false});
  $$('[data-tool]').forEach(button => button.addEventListener('click', () => {
    const zoom = {closer: 1.5, wider: 1 / 1.5}[button.dataset.tool];
    if (zoom) {
      view.x = W / 2 - (W / 2 - view.x) * zoom;
      view.y = H / 2 - (H / 2 - view.y) * zoom;
      view.k *= zoom;
      soon();
      return;
    }
    tool = button.dataset.tool;
    $$('[data-tool][aria-pressed]').forEach(one => one.setAttribute('aria-pressed', one === button));
  }));
  addEventListener('resize', () => {
    size();
    draw();
  });
  async function load() {
    const started = performance.now();
    const found = await request(`${api}/map`).catch(problem => {
      $('#map-state').textContent = problem.message;
      return null;
    });
    if (!found) return;
    const arrived = performance.now(), {ids, x, y} = found, lines = found.lines ?? [],
          sure = found.confidence ?? [], group = found.groups ?? [];
    let x0 = Infinity, x1 = -Infinity, y0 = Infinity, y1 = -Infinity;
    for (let i = 0; i < ids.length; i++) {
      x0 = Math.min(x0, x[i]);
      x1 = Math.max(x1, x[i]);
      y0 = Math.min(y0, y[i]);
      y1 = Math.max(y1, y[i]);
    }
    for (let i = 0; i < ids.length; i++)
      points.push({
        id: ids[i],
        x: (x[i] - x0) / (x1 - x0 || 1),
        y: (y[i] - y0) / (y1 - y0 || 1),
        group: group[i] ?? -1,
        sure: sure[i] ?? 0,
        line: lines[i]
      });
    const by = new Map();
    for (const p of points)
      if (p.group >= 0) {
        if (!by.has(p.group)) by.set(p.group, []);
        by.get(p.group).push(p);
      }
    hulls = [...by]
              .filter(([, list]) => list.length > 4)
              .slice(0, 60)
              .map(([id, list]) => {
                const core = list.filter(p => p.line !== 'doubt'), many = core.length > 4 ? core : list,
                      cx = many.reduce((s, p) => s + p.x, 0) / many.length,
                      cy = many.reduce((s, p) => s + p.y, 0) / many.length;
                const near = many.map(p => [Math.hypot(p.x - cx, p.y - cy), p])
                               .sort((a, b) => a[0] - b[0])
                               .slice(0, Math.max(5, Math.ceil(many.length * .92)))
                               .map(one => one[1]);
                return {group: id, n: list.length, hull: hull(near)};
              })
              .filter(one => one.hull.length > 2);
    $('#map-state').hidden = true;
    size();
    draw();
    table();
    canvas.dataset.drawn = Math.round(performance.now() - arrived);
    canvas.dataset.loaded = Math.round(arrived - started);
  }
  load();
  return {
    clear() {
      lasso = [];
      draw();
      table();
    }
  };
})();
