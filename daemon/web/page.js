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
    return Math.floor(s / 86400) + 'd' + Math.floor(s % 86400 / 3600) + 'h';
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

  if (!byId('live')) return;
  tick();
  setInterval(tick, 1000);
  document.addEventListener('visibilitychange', tick);
  addEventListener('pagehide', () => source && source.close());
  addEventListener('pageshow', e => e.persisted && open());
  open();
})();
