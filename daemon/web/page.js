'use strict';
(() => {
  const page = document.body, pack = page.dataset.pack, root = page.dataset.root;
  const byId = id => document.getElementById(id);
  const skew = Number(page.dataset.now) - Date.now(); // of the service's clock
  let version = page.dataset.version, source;

  const two = n => String(n).padStart(2, '0');
  const age = s => {
    s = Math.max(0, Math.floor(s));
    if (s < 60) return s + 's';
    if (s < 3600) return Math.floor(s / 60) + 'm' + two(s % 60) + 's';
    if (s < 86400) return Math.floor(s / 3600) + 'h' + two(Math.floor(s % 3600 / 60)) + 'm';
    const hours = Math.floor(s % 86400 / 3600);
    return Math.floor(s / 86400) + 'd' + (hours ? hours + 'h' : '');
  };

  // tick counts all ages on.
  const tick = () => {
    if (document.hidden) return;
    const now = Date.now() + skew;
    for (const t of document.querySelectorAll('time.ago')) {
      const text = age((now - Date.parse(t.dateTime)) / 1000) + (t.closest('.live, .sources') ? '' : ' ago');
      if (t.textContent !== text) t.textContent = text;
    }
    const state = document.querySelector('.live time'), bar = document.querySelector('.live progress');
    if (!state) return;
    bar.value = Math.min(bar.max, Math.max(0, (now - Date.parse(state.dateTime)) / 1000));
    const title = document.querySelector('[data-title]').dataset.title.replace('{}', state.textContent);
    if (document.title !== title) document.title = title;
  };

  const glow = el => {
    el.classList.remove('glow');
    void el.offsetWidth; // begin again
    el.classList.add('glow');
  };
  page.addEventListener('animationend', e => e.target.classList.remove('glow'));

  const rowsOf = el => new Map(Array.from(el.querySelectorAll('tr[id]'), r => [r.id, Array.from(r.cells, c => c.textContent)]));

  // What follows is beside the tables: they are whole without it. Sorting and filtering are of this visit, watched rows of this browser.
  const store = 'contextd-watched', sorts = new Map();
  const watched = () => { try { return new Set(JSON.parse(localStorage.getItem(store)) || []); } catch { return new Set(); } };
  const rowOf = a => new URL(a.href).searchParams.get('row');
  const links = el => Array.from(el.querySelectorAll('tbody th a[href^="?"]'));
  const scale = {K: 1e3, M: 1e6, B: 1e9, T: 1e12};
  const valueOf = cell => {
    const time = cell.querySelector('time');
    if (time) return Date.parse(time.dateTime);
    const text = cell.textContent.replace(/,/g, '').replace('−', '-'), m = /-?[\d.]+(?:e[+-]?\d+)?/.exec(text);
    return m ? Number(m[0]) * (scale[text[m.index + m[0].length]] || 1) * (text[m.index - 1] === '-' ? -1 : 1) : NaN;
  };

  // sort puts the rows of a table in the order that was chosen for it; what has no value comes last.
  const sort = table => {
    const id = table.closest('section').id, by = sorts.get(id), body = table.tBodies[0];
    Array.from(table.tHead.rows[0].cells).forEach((th, i) => by && by.column === i
      ? th.setAttribute('aria-sort', by.down ? 'descending' : 'ascending') : th.removeAttribute('aria-sort'));
    const place = r => Number(r.dataset.place), rows = Array.from(body.rows);
    if (!by) return body.append(...rows.sort((a, b) => place(a) - place(b)));
    const words = by.column === 0 || rows.some(r => r.cells[by.column].classList.contains('w') && !r.cells[by.column].querySelector('time'));
    const key = r => words ? r.cells[by.column].textContent.trim().toLowerCase() : valueOf(r.cells[by.column]);
    const of = new Map(rows.map(r => [r, key(r)]));
    body.append(...rows.sort((a, b) => {
      const x = of.get(a), y = of.get(b), none = v => v === '' || Number.isNaN(v);
      if (none(x) || none(y)) return none(x) - none(y) || place(a) - place(b);
      return (x < y ? -1 : x > y ? 1 : place(a) - place(b)) * (by.down ? -1 : 1);
    }));
  };

  // sift hides the rows that are not asked for, and the tables without others.
  const sift = () => {
    const text = byId('filter').value.trim().toLowerCase(), only = byId('watched').checked, mine = watched();
    for (const table of document.querySelectorAll('main > .card table, .tables table')) {
      if (table.closest('.ask, .drawer')) continue;
      let some = false;
      for (const row of table.tBodies[0].rows) {
        const a = row.querySelector('th a[href^="?"]'), is = a && mine.has(pack + ' ' + rowOf(a));
        row.classList.toggle('watched', !!is);
        row.hidden = only && !is || text !== '' && !row.textContent.toLowerCase().includes(text);
        some = some || !row.hidden;
      }
      table.closest('section').hidden = !some;
    }
  };

  // dress makes the headings of tables buttons.
  const dress = el => {
    for (const table of el.querySelectorAll('table:not(.rd):not(.figs)')) {
      Array.from(table.tBodies[0].rows).forEach((r, i) => { r.dataset.place = i; });
      Array.from(table.tHead.rows[0].cells).forEach((th, i) => {
        if (!th.textContent || th.querySelector('.sr, button')) return;
        const b = document.createElement('button');
        b.type = 'button';
        b.className = 'sort';
        b.textContent = th.textContent;
        b.addEventListener('click', () => {
          const id = table.closest('section').id, by = sorts.get(id), first = !th.classList.contains('w') && i > 0;
          if (!by || by.column !== i) sorts.set(id, {column: i, down: first});
          else if (by.down === first) sorts.set(id, {column: i, down: !first});
          else sorts.delete(id);
          sort(table);
        });
        th.replaceChildren(b);
      });
      if (sorts.has(table.closest('section').id)) sort(table);
    }
  };

  // The view of a row. Its link is that of the page, so that it can be kept, and gone back from.
  let opened, asked = 0;
  const mark = () => {
    const d = byId('row'), row = d && d.dataset.row;
    document.querySelectorAll('tr.on').forEach(r => r.classList.remove('on'));
    if (!row) return;
    links(document).forEach(a => rowOf(a) === row && a.closest('tr').classList.add('on'));
    const b = byId('watch'), is = watched().has(pack + ' ' + row);
    if (!b) return;
    b.setAttribute('aria-pressed', is);
    b.textContent = is ? 'Watched' : 'Watch';
  };
  const shut = () => {
    const d = byId('row');
    if (!d) return;
    const row = d.dataset.row;
    d.remove();
    mark();
    const to = opened && opened.isConnected ? opened : links(document).find(a => rowOf(a) === row);
    if (to) to.focus({preventScroll: true});
  };
  const show = async (search, quiet) => {
    const mine = ++asked, q = new URLSearchParams(search);
    if (!q.get('row')) return shut();
    if (root === '') q.set('front', '1');
    let html;
    try {
      const res = await fetch(root + 'packs/' + pack + '/row?' + q, {headers: {Accept: 'text/html'}});
      html = res.ok ? await res.text() : '';
      if (!res.ok && !quiet) {
        const e = (await res.json().catch(() => ({}))).error;
        lostRow(e ? e.message + (e.hint ? '. ' + e.hint : '') : 'The service answered ' + res.status);
      }
    } catch {
      if (!quiet) lostRow('The service does not answer. Try again.');
    }
    if (!html || mine !== asked) return;
    const old = byId('row'), top = old && quiet ? old.scrollTop : 0, inside = old && quiet && old.contains(document.activeElement) && document.activeElement;
    const made = document.createElement('template');
    made.innerHTML = html;
    const d = made.content.querySelector('#row');
    if (old) old.replaceWith(d); else byId('ask').before(d);
    d.scrollTop = top;
    mark();
    const again = inside && (inside.id ? byId(inside.id) : Array.from(d.querySelectorAll('a, button')).find(a => a.textContent === inside.textContent));
    if (again) again.focus({preventScroll: true});
    else if (!quiet) byId('h-row').focus({preventScroll: true});
  };
  const lostRow = text => { byId('lost').textContent = text; };
  const go = search => {
    history.pushState(null, '', search || location.pathname);
    return show(search || '');
  };
  page.addEventListener('click', e => {
    if (e.defaultPrevented || e.button || e.metaKey || e.ctrlKey || e.shiftKey) return;
    const a = e.target.closest('a');
    if (e.target.id === 'watch') {
      const mine = watched(), key = pack + ' ' + byId('row').dataset.row;
      if (!mine.delete(key)) mine.add(key);
      try { localStorage.setItem(store, JSON.stringify([...mine].slice(-500))); } catch { /* it is of this visit then */ }
      mark();
      sift();
      return;
    }
    if (!a) return;
    if (a.id === 'shut') {
      e.preventDefault();
      go(page.dataset.at ? '?at=' + encodeURIComponent(page.dataset.at) : '');
    } else if ((a.getAttribute('href') || '').startsWith('?') && rowOf(a)) {
      e.preventDefault();
      if (!a.closest('.drawer')) opened = a;
      go(new URL(a.href).search);
    }
  });
  page.addEventListener('submit', e => {
    if (!e.target.matches('.cmp')) return;
    e.preventDefault();
    go('?' + new URLSearchParams(new FormData(e.target)));
  });
  page.addEventListener('change', e => { if (e.target.id === 'with') e.target.form.requestSubmit(); });
  addEventListener('popstate', () => show(location.search));
  addEventListener('keydown', e => {
    if (e.altKey || e.metaKey || e.ctrlKey) return;
    const typing = e.target.closest('input:not([type=checkbox]), select, textarea');
    if (e.key === 'Escape') {
      if (typing && typing.id === 'filter' && typing.value) {
        typing.value = '';
        return sift();
      }
      if (byId('shut')) return byId('shut').click();
    }
    if (typing) return;
    const step = {ArrowDown: 1, j: 1, ArrowUp: -1, k: -1}[e.key], at = document.activeElement;
    const seen = () => links(document).filter(a => !a.closest('.ask, .drawer') && a.offsetParent);
    if (e.key === '/') {
      e.preventDefault();
      byId('filter').focus();
    } else if (e.key === 'w' && byId('watch')) {
      byId('watch').click();
    } else if (e.key === '[' || e.key === ']') {
      const packs = Array.from(document.querySelectorAll('header nav[aria-label=Packs] a')), here = packs.findIndex(a => a.matches('[aria-current]'));
      const to = packs[here + (e.key === ']' ? 1 : -1)];
      if (to) location.href = to.href;
    } else if (step && (at.closest('tbody th') || byId('row') || e.key === 'j' || e.key === 'k')) {
      const list = seen(), from = list.includes(at) ? list.indexOf(at) : list.findIndex(a => a.closest('tr').classList.contains('on'));
      const to = list[from < 0 ? 0 : from + step];
      if (!to || at.closest('.drawer') && e.key.startsWith('Arrow')) return;
      e.preventDefault();
      to.focus();
    }
  });
  byId('filter').addEventListener('input', sift);
  byId('watched').addEventListener('change', sift);
  dress(document);
  sift();
  mark();

  // What is critical is told by the browser where its reader has allowed that, once for each flag while the page is open.
  const tell = byId('notify'), telling = 'contextd-notify', told = new Set();
  const critical = () => Array.from(document.querySelectorAll('.flag.critical[data-flag]'));
  const notify = () => {
    const now = critical().filter(f => !told.has(f.dataset.flag));
    told.clear();
    critical().forEach(f => told.add(f.dataset.flag));
    if (!tell || !tell.checked || Notification.permission !== 'granted') return;
    for (const f of now) new Notification(pack + ': critical', {body: f.querySelector('b + span').textContent, tag: pack + f.dataset.flag});
  };
  const offer = () => {
    if (!tell || !byId('live') || !('Notification' in window) || Notification.permission === 'denied') return;
    byId('tell').hidden = false;
    try { tell.checked = Notification.permission === 'granted' && localStorage.getItem(telling) === '1'; } catch { /* it is of this visit then */ }
    tell.addEventListener('change', async () => {
      if (tell.checked && await Notification.requestPermission() !== 'granted') tell.checked = false;
      try { localStorage.setItem(telling, tell.checked ? '1' : '0'); } catch { /* it is of this visit then */ }
    });
  };
  critical().forEach(f => told.add(f.dataset.flag));
  offer();

  // put puts what changed in place.
  const put = e => {
    for (const [id, html] of e.parts || []) {
      const el = byId(id);
      if (!el) return location.reload();
      const before = rowsOf(el), tiles = Array.from(el.querySelectorAll('.tile'), t => t.textContent);
      const unfolded = Array.from(el.querySelectorAll('details[open]'), d => d.id), focused = el.contains(document.activeElement) && document.activeElement.getAttribute('href');
      el.innerHTML = html;
      unfolded.forEach(id => byId(id) && (byId(id).open = true));
      el.querySelectorAll('.tile').forEach((t, i) => i in tiles && t.textContent !== tiles[i] && glow(t));
      dress(el);
      for (const row of el.querySelectorAll('tr[id]')) {
        const old = before.get(row.id);
        if (old) Array.from(row.cells).forEach((c, i) => c.textContent !== old[i] && glow(c));
      }
      if (focused) {
        const again = Array.from(el.querySelectorAll('a')).find(a => a.getAttribute('href') === focused);
        if (again) again.focus({preventScroll: true});
      }
    }
    for (const [id, i, html, classes] of e.cells || []) {
      const row = byId(id), cell = row && row.cells[i];
      if (!cell) return location.reload();
      cell.innerHTML = html;
      cell.className = classes;
      glow(cell);
    }
    version = e.v;
    sift();
    notify();
    document.querySelectorAll('th[aria-sort]').forEach(th => sort(th.closest('table')));
    mark();
    if (byId('row')) show(location.search, true);
    tick();
  };

  const lost = text => {
    page.classList.toggle('gone', text !== '');
    const el = byId('lost'), state = document.querySelector('.live .state');
    if (el.textContent !== text) el.textContent = text;
    if (state) state.textContent = text ? 'not live' : 'live';
  };

  const open = () => {
    source = new EventSource(root + 'packs/' + pack + '/events?v=' + version);
    source.onopen = () => lost('');
    source.onmessage = m => { lost(''); put(JSON.parse(m.data)); };
    source.onerror = () => {
      if (source.readyState !== EventSource.CLOSED) {
        return lost('Disconnected from the service: the figures are frozen. Reconnecting.');
      }
      lost('The service sends no changes now: the figures are frozen. Retrying in 30 seconds; reload for the newest state.');
      setTimeout(open, 30000);
    };
  };

  if (!byId('live')) return; // a past state: nothing changes
  tick();
  setInterval(tick, 1000);
  document.addEventListener('visibilitychange', tick);
  addEventListener('pagehide', () => source && source.close());
  addEventListener('pageshow', e => e.persisted && open());
  open();
})();
