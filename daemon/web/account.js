'use strict';
(() => {
  const byId = id => document.getElementById(id);
  const {root = '', next} = document.body.dataset; // where the service is; and whether the page goes on once somebody has signed in
  const skew = Number(document.body.dataset.now || Date.now()) - Date.now(); // of the service's clock
  const wallet = () => window.ethereum;
  const store = 'contextd-deposits';

  // el makes an element with properties and children; text is text.
  const el = (name, props, ...children) => {
    const made = Object.assign(document.createElement(name), props);
    made.append(...children.filter(c => c !== null));
    return made;
  };
  const svg = (name, attributes) => {
    const made = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const minute = text => text ? new Date(text).toISOString().slice(0, 16).replace('T', ' ') : 'never';
  const day = text => text ? new Date(text).toISOString().slice(0, 10) : 'never';

  const say = (text, bad) => {
    byId('say').textContent = text;
    byId('say').className = bad ? 'say problem' : 'say';
  };

  // call asks the service. What it refuses is thrown as it says it, with what to do.
  const call = async (method, path, body) => {
    let res;
    try {
      res = await fetch(root + path, {method, credentials: 'same-origin', cache: 'no-store',
        headers: body ? {'Content-Type': 'application/json'} : {}, body: body ? JSON.stringify(body) : undefined});
    } catch {
      throw new Error('The service does not answer. Try again.');
    }
    const answer = res.status === 204 ? null : await res.json().catch(() => null);
    if (res.ok) return answer;
    const e = (answer && answer.error) || {message: 'the service answered ' + res.status};
    const wait = res.headers.get('Retry-After');
    const text = e.message[0].toUpperCase() + e.message.slice(1) + '.' + (e.hint ? ' What to do: ' + e.hint + '.' : '') +
      (wait ? ' Wait ' + wait + ' s.' : '') + (e.requestId ? ' (request ' + e.requestId + ')' : '');
    throw Object.assign(new Error(text), {reason: e.reason, status: res.status});
  };

  // act does something at a press of a button, which waits meanwhile.
  const act = async (button, work) => {
    if (button) button.disabled = true;
    say('');
    try {
      await work();
    } catch (e) {
      if (e.status === 401 && (e.reason === 'missing_session' || e.reason === 'invalid_session')) show(false);
      const again = e.reason === 'reauthentication_required' ? ' Sign out, sign in, and do it within ten minutes.' : '';
      say((e.code === 4001 ? 'The wallet refused.' : e.message || 'The wallet failed.') + again, true);
    } finally {
      if (button) button.disabled = false;
    }
  };
  const press = (id, work) => byId(id) && byId(id).addEventListener('click', e => act(e.currentTarget, work));
  const submit = (id, work) => byId(id) && byId(id).addEventListener('submit', e => {
    e.preventDefault();
    act(e.submitter, work);
  });

  const show = signedIn => {
    byId('signin').hidden = signedIn;
    byId('nowallet').hidden = !!wallet();
    byId('wallet').disabled = !wallet();
    if (next) return;
    byId('mine').hidden = byId('out').hidden = !signedIn;
    byId('addwallet').disabled = !wallet();
    if (!signedIn) byId('who').textContent = '';
  };
  const invite = () => byId('invite').value.trim() ? {invite: byId('invite').value.trim()} : {};

  // byWallet signs in, or adds a wallet to the account that is signed in.
  const byWallet = async () => {
    const [address] = await wallet().request({method: 'eth_requestAccounts'});
    const asked = await call('POST', 'api/auth/wallet', {address});
    const text = '0x' + Array.from(new TextEncoder().encode(asked.message), b => b.toString(16).padStart(2, '0')).join('');
    const signature = await wallet().request({method: 'personal_sign', params: [text, address]});
    await call('POST', 'api/auth/wallet/verify', {message: asked.message, signature, ...invite()});
    await load();
  };

  submit('mail', async () => {
    await call('POST', 'api/auth/email', {email: byId('email').value});
    byId('token').hidden = false;
    say('A link is on its way to ' + byId('email').value + '. It works once, for 15 minutes.');
  });
  submit('token', async () => {
    const text = byId('code').value.trim(), at = text.indexOf('token=');
    await call('POST', 'api/auth/email/verify', {token: at < 0 ? text : decodeURIComponent(text.slice(at + 6).split('&')[0]), ...invite()});
    byId('code').value = '';
    await load();
  });
  press('wallet', byWallet);
  press('addwallet', byWallet);
  submit('addmail', async () => {
    await call('POST', 'api/auth/email', {email: byId('another').value});
    say('A link is on its way to ' + byId('another').value + '. It adds the address when it is opened in this browser.');
  });
  press('out', async () => { await call('DELETE', 'api/auth/session'); leave('You are signed out.'); });
  press('outall', async () => {
    if (!confirm('Sign out in every browser and terminal?')) return;
    await call('DELETE', 'api/auth/session?all=true');
    leave('You are signed out everywhere.');
  });
  const leave = text => {
    forget();
    localStorage.removeItem(store);
    show(false);
    say(text);
  };

  // The plaintext of a key stays on the page until its owner has it, and nowhere else.
  const forget = () => { byId('plain').textContent = ''; byId('secret').hidden = true; };
  const reveal = key => {
    byId('plain').textContent = key;
    byId('secret').hidden = false;
    byId('copykey').focus();
  };
  press('copykey', async () => { await navigator.clipboard.writeText(byId('plain').textContent); say('Copied.'); });
  press('hide', async () => forget());
  submit('make', async () => {
    const most = byId('keybound').value;
    const issued = await call('POST', 'api/keys', {name: byId('keyname').value, dailyCredits: most ? Number(most) : null});
    byId('keyname').value = byId('keybound').value = '';
    reveal(issued.key);
    await keys();
  });

  const button = (text, of, work) => {
    const made = el('button', {type: 'button'}, text, el('span', {className: 'sr'}, ' ' + of));
    made.addEventListener('click', () => act(made, work));
    return made;
  };
  const row = (head, ...cells) => el('tr', {}, el('th', {scope: 'row'}, head), ...cells);
  const cell = (className, ...children) => el('td', {className}, ...children);

  let active = false; // there is a key for credits
  const keys = async () => {
    const list = (await call('GET', 'api/keys')).keys;
    active = list.some(k => !k.revokedAt);
    const spent = new Map((await call('GET', 'api/console/usage?days=1')).bounds.map(b => [b.keyId, b.spentToday]));
    const about = k => [
      k.oauth && 'agent at ' + k.oauth.redirect + (k.revokesAt ? ', until ' + day(k.revokesAt) : ''),
      spent.has(k.keyId) && spent.get(k.keyId) + ' of ' + k.dailyCredits + ' credits spent today',
      k.oauth && k.oauth.copied && 'ended by itself: a token was used twice, so somebody has a copy',
    ].filter(Boolean).map(text => el('small', {}, text));
    byId('keys').replaceChildren(...list.map(k => row(el('span', {}, k.name, el('code', {}, k.keyId), ...about(k)), cell('n m', day(k.lastUsedAt)),
      k.revokedAt || k.revokesAt && !k.oauth ? cell('n', (k.revokedAt ? 'revoked ' : 'ends ') + day(k.revokedAt || k.revokesAt)) : cell('n',
        button('Bound', k.name, async () => {
          const text = prompt('Credits that ' + k.name + ' spends in a day (UTC) at most, or nothing for no bound:', k.dailyCredits || '');
          if (text === null) return;
          await call('PATCH', 'api/keys/' + k.keyId, {dailyCredits: text.trim() ? Number(text) : null});
          await keys();
        }), ' ',
        k.oauth ? '' : button('Rotate', k.name, async () => {
          if (!confirm('Create a new key in place of ' + k.name + '? The old one works for another hour.')) return;
          const made = await call('POST', 'api/keys/' + k.keyId + '/rotate', {graceSeconds: 3600});
          reveal(made.key);
          await keys();
        }), ' ',
        button('Revoke', k.name, async () => {
          const held = (await call('GET', 'api/console/credits?keyId=' + k.keyId)).balance;
          if (!confirm('Revoke ' + k.name + ' at once?' + (held ? ' Its ' + held + ' credits are lost: rotate it to keep them.' : ''))) return;
          await call('DELETE', 'api/keys/' + k.keyId);
          await keys();
        })))));
    const credits = await call('GET', 'api/console/credits');
    if (byId('recent')) {
      byId('recent').replaceChildren(...(credits.recentDeposits || []).map(d =>
        row(d.pack, cell('n', d.amountUsdc), cell('', d.status), cell('n m', day(d.createdAt)))));
      byId('recent').closest('table').hidden = !byId('recent').children.length;
    }
    byId('balance').textContent = credits.balance.toLocaleString('en');
    byId('free').textContent = credits.freeCalls ? 'and ' + credits.freeCalls.toLocaleString('en') + ' free calls in 24 hours' : '';
  };

  const watches = async () => {
    const list = (await call('GET', 'api/console/watches')).watches;
    byId('watches').replaceChildren(...list.map(w => {
      const at = 'api/console/watches/' + w.watchId, to = w.delivery, name = w.type + ' ' + w.watchId;
      const state = [w.status === 'suspended' && 'its receiver failed for too long: make it again', w.status === 'paused' && 'its day is not paid',
        w.failures && w.failures + ' failed since ' + minute(w.failedSince) + ': ' + w.lastError,
        w.gap && 'events were given up: ctx watch events ' + w.watchId + ' --cursor ' + w.gap].filter(Boolean);
      return row(el('span', {}, w.type, el('small', {}, Object.entries(w.arguments).map(([k, v]) => k + ' ' + v).join(', ')),
        el('small', {}, to.type + (to.type === 'poll' ? '' : ' to ' + (to.email || to.topic || new URL(to.url).host))), el('code', {}, w.watchId)),
      cell('', w.status, ...state.map(text => el('small', {}, text))), cell('n m', to.type === 'poll' ? 'by cursor' : minute(w.lastDeliveryAt)), cell('n',
        to.type === 'poll' ? '' : button('Test', name, async () => { await call('POST', at + '/test'); say('The delivery of ' + w.type + ' works.'); }), ' ',
        button('Remove', name, async () => {
          if (!confirm('Remove the watch ' + name + '?')) return;
          await call('DELETE', at);
          await watches();
        })));
    }));
  };

  const identities = async () => {
    const list = (await call('GET', 'api/auth/identities')).identities;
    byId('ids').replaceChildren(...list.map(i => row(i.kind, cell('', el('span', {className: 'id'}, i.subject)), cell('n m', day(i.createdAt)),
      cell('n', list.length < 2 ? '' : button('Remove', i.subject, async () => {
        if (!confirm('Remove ' + i.subject + ' from the account?')) return;
        await call('DELETE', 'api/auth/identities/' + i.id);
        await identities();
      })))));
  };

  document.querySelectorAll('.count').forEach(cell => { cell.textContent = Number(cell.textContent).toLocaleString('en'); });

  const usage = async () => {
    const calls = new Map();
    for (let i = 29; i >= 0; i--) calls.set(new Date(Date.now() - i * 864e5).toISOString().slice(0, 10), 0);
    for (const u of (await call('GET', 'api/console/usage?days=30')).days) calls.set(u.day, (calls.get(u.day) || 0) + u.calls);
    const days = Array.from(calls).sort(), most = Math.max(1, ...days.map(d => d[1]));
    const chart = svg('svg', {viewBox: '0 0 600 110', class: 'bars', role: 'img', 'aria-label': 'Calls a day, at most ' + most});
    days.forEach(([when, n], i) => {
      const high = n ? Math.max(2, n / most * 84) : 1, bar = svg('rect', {x: i * 600 / days.length + 1, y: 92 - high, width: 600 / days.length - 3, height: high});
      const title = svg('title', {});
      title.textContent = when + ': ' + n;
      bar.append(title);
      chart.append(bar);
    });
    [[0, 'start', days[0][0]], [598, 'end', days.some(d => d[1]) ? 'today, at most ' + most + ' a day' : 'today, no call yet']].forEach(([x, anchor, text]) => {
      const label = svg('text', {x, y: 108, 'text-anchor': anchor});
      label.textContent = text;
      chart.append(label);
    });
    byId('chart').replaceChildren(chart);
    byId('usage').replaceChildren(...days.map(([when, n]) => row(when, cell('', String(n)))));
  };

  // Deposits: what is to be paid is remembered in this browser, and asked after until it is decided.
  const intents = () => { try { return JSON.parse(localStorage.getItem(store)) || []; } catch { return []; } };
  const remember = list => localStorage.setItem(store, JSON.stringify(list.slice(-5)));
  const timers = new Map();

  const pay = async intent => {
    const [from] = await wallet().request({method: 'eth_requestAccounts'});
    await wallet().request({method: 'wallet_switchEthereumChain', params: [{chainId: '0x' + intent.chainId.toString(16)}]});
    const word = hex => hex.replace(/^0x/, '').toLowerCase().padStart(64, '0');
    const amount = BigInt(intent.amountUsdc.replace('.', '')); // it has six decimals
    const data = '0xa9059cbb' + word(intent.recipient) + word(amount.toString(16)) + word(intent.nonce);
    const txHash = await wallet().request({method: 'eth_sendTransaction', params: [{from, to: intent.token, data}]});
    remember(intents().map(i => i.id === intent.id ? {...i, txHash} : i)); // or it would be asked for once more
    deposits();
    await call('POST', 'api/console/credits/' + intent.id + '/verify', {txHash});
    say('Sent. It counts once the chain has it.');
  };

  const line = (name, text) => {
    const copy = el('button', {type: 'button'}, 'Copy', el('span', {className: 'sr'}, ' the ' + name));
    copy.addEventListener('click', () => act(copy, async () => { await navigator.clipboard.writeText(text); say('Copied: ' + text); }));
    return [el('dt', {}, name), el('dd', {}, el('code', {}, text), ' ', copy)];
  };

  const chains = {1: 'Ethereum', 4663: 'Robinhood Chain', 46630: 'Robinhood Chain testnet', 8453: 'Base', 84532: 'Base Sepolia'};
  const network = id => document.body.dataset.demo === 'true' ? 'the test chain of this demo' : chains[id] || 'a chain without a name here';
  const now = () => Date.now() + skew;
  const until = ms => { // 1 h 04 min, 4:05 min
    const s = Math.max(0, Math.floor(ms / 1000)), two = n => String(n).padStart(2, '0');
    return s >= 3600 ? Math.floor(s / 3600) + ' h ' + two(Math.floor(s % 3600 / 60)) + ' min' : Math.floor(s / 60) + ':' + two(s % 60) + ' min';
  };
  const tooLate = 60e3; // what is sent now may not be in a block in time

  // drawDeposit shows what is to be paid, for as long as it can be: what is left of the time, and in the end what became of it.
  const drawDeposit = intent => {
    const state = el('p', {className: 'state', role: 'status'}), left = el('b', {className: 'left'}), ends = intent.expiresAt * 1000;
    const box = el('div', {className: 'deposit'}, el('h3', {}, 'Pay for ' + intent.pack), state);
    const how = el('div', {className: 'how'},
      intent.nonceRequired ? el('p', {className: 'problem'}, 'This transfer counts only with the note below in its data: pay with a wallet here, or with ctx.') : null,
      el('p', {}, 'Send ', el('strong', {}, 'exactly this amount'), ', to the last digit: it tells your transfer from others. Another amount buys nothing.'),
      el('dl', {}, ...line('amount of USDG', intent.amountUsdc),
        el('dt', {}, 'until'), el('dd', {}, new Date(ends).toISOString().slice(0, 19).replace('T', ' ') + ' UTC, ', left, ' left'),
        el('dt', {}, 'network'), el('dd', {}, network(intent.chainId) + ', chain ' + intent.chainId + (byId('rail') ? ' (' + intent.rail + ')' : '')),
        ...line('recipient', intent.recipient), ...line('token', intent.token), ...(intent.nonceRequired ? line('note', intent.nonce) : [])));
    if (intent.paymentUri) {
      how.append(el('p', {}, el('a', {href: intent.paymentUri}, 'Open in a wallet')),
        el('img', {src: 'account/qr?text=' + encodeURIComponent(intent.paymentUri), alt: 'The transfer as a QR code', width: 200, height: 200}));
    }
    const acts = el('p', {className: 'acts'}), drop = () => remember(intents().filter(i => i.id !== intent.id));
    const forgetIt = (text, work) => {
      const b = el('button', {type: 'button'}, text, el('span', {className: 'sr'}, ' the purchase of ' + intent.pack));
      b.addEventListener('click', work);
      return b;
    };
    const wallets = wallet() && !intent.txHash ? button('Pay with the wallet', intent.pack, async () => {
      if (ends - now() < tooLate) throw new Error('It is too late to send this transfer: it may not count. Buy again.');
      await pay(intent);
    }) : null;
    if (wallets) wallets.className = 'pay';
    acts.append(...[wallets, forgetIt('Cancel', () => {
      if (!confirm('Cancel the purchase of ' + intent.pack + '? Nothing is to be paid then. What was sent already still counts until the deadline.')) return;
      drop();
      deposits();
      say('The purchase of ' + intent.pack + ' is cancelled: do not send its amount any more.');
      byId('say').focus();
    })].filter(Boolean));
    box.append(how, acts);
    const end = (text, good) => {
      clearTimeout(timers.get(intent.id));
      clearInterval(timers.get(intent.id + ' clock'));
      box.classList.add(good ? 'done' : 'over');
      state.textContent = text;
      how.remove();
      acts.replaceChildren(forgetIt('Close', () => { drop(); box.remove(); }));
    };
    const tick = () => {
      left.textContent = until(ends - now());
      if (box.matches('.done, .over')) return;
      const late = ends - now() < tooLate;
      state.textContent = intent.txHash ? 'sent as ' + intent.txHash + ': waiting for the chain' :
        !late ? 'waiting for the transfer' : now() < ends ? 'too late to send: it may not count' : 'expired: do not send it any more';
      if (late || intent.txHash) how.remove();
      if (late && wallets) wallets.remove();
      box.classList.toggle('over-soon', late && !intent.txHash);
    };
    timers.set(intent.id + ' clock', setInterval(tick, 1000));
    tick();
    const ask = async () => {
      let d;
      try {
        d = await call('GET', 'api/console/credits/' + intent.id);
      } catch (e) {
        if (e.status === 404) {
          drop();
          return end('unknown: this service has no such purchase', false);
        }
        if (e.status === 401) return;
      }
      if (!d || d.status === 'pending') {
        if (d && d.message) say(d.message, true);
        return timers.set(intent.id, setTimeout(ask, 4000));
      }
      drop();
      if (d.status === 'verified') {
        end('verified: ' + d.credits.toLocaleString('en') + ' credits are there', true);
        say('The payment is verified.');
        await keys();
      } else {
        end(d.status + ': do not send it any more' + (d.message ? '. ' + d.message : '') + '. If you did send it, ask the operator.', false);
      }
    };
    ask();
    return box;
  };
  const deposits = () => {
    if (!byId('deposits')) return;
    timers.forEach(clearTimeout); // and intervals, which are of the same numbers
    timers.clear();
    byId('deposits').replaceChildren(...intents().map(drawDeposit));
  };
  for (const b of document.querySelectorAll('.buy')) {
    b.addEventListener('click', () => act(b, async () => {
      if (!active) {
        byId('keyname').focus();
        throw new Error('Credits belong to a key: make one first, with the button “Make a key”.');
      }
      const intent = await call('POST', 'api/console/credits', {pack: b.dataset.pack, ...(byId('rail') ? {rail: byId('rail').value} : {})});
      remember([...intents(), {...intent, pack: b.dataset.pack}]);
      deposits();
      if (intent.warning) say(intent.warning, true);
    }));
  }

  const load = async () => {
    const s = await call('GET', 'api/auth/session');
    if (next) return location.reload();
    byId('who').textContent = s.email || s.address;
    byId('session').textContent = 'Tier ' + s.tier + '. This session ends on ' + day(s.expiresAt) + ' unless it is used.';
    show(true);
    await Promise.all([keys(), watches(), identities(), usage()]);
    deposits();
  };

  if (next) { // the mailed link may have been opened beside it
    document.addEventListener('visibilitychange', () => document.hidden || load().catch(() => {}));
  }
  show(false);
  byId('signin').hidden = true;
  load().catch(e => {
    show(false);
    if (e.status !== 401) say(e.message, true);
  });
})();
