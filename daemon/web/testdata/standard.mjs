// What stock clients of x402 do with a service: node standard.mjs URL PRIVATE_KEY TOKEN CLIENT CALL…
// A CALL is a path, of a GET or after POST and a space. Where it buys credits, the key is used as a bearer's.
import { privateKeyToAccount } from 'viem/accounts';
import assert from 'node:assert/strict';

const [url, key, asset, client, ...paths] = process.argv.slice(2);
const account = privateKeyToAccount(key);
const network = 'eip155:46630';

// controls are those that the service says a client needs, as without them it pays with no token that is not on a list of its own.
async function controls() {
  const { wrapFetchWithPaymentFromConfig } = await import('@x402/fetch');
  const { ExactEvmScheme } = await import('@x402/evm');
  const plain = wrapFetchWithPaymentFromConfig(fetch, { schemes: [{ network, client: new ExactEvmScheme(account) }] });
  await assert.rejects(plain(url + '/v1/fresh'), /spendControls/);
  const { error } = await (await fetch(url + '/v1/fresh')).json();
  const told = error.hint.match(/spendControls: (\{.*\})/)[1];
  assert.ok((await (await fetch(url + '/llms.txt')).text()).includes(told), 'llms.txt says the same');
  assert.deepEqual(JSON.parse(told), { allowedAssets: [{ network, asset }] });
  return JSON.parse(told);
}

const clients = {
  // @x402/fetch: the reference.
  async fetch() {
    const { wrapFetchWithPaymentFromConfig } = await import('@x402/fetch');
    const { ExactEvmScheme } = await import('@x402/evm');
    const pay = wrapFetchWithPaymentFromConfig(fetch, {
      schemes: [{ network, client: new ExactEvmScheme(account) }],
      spendControls: await controls(),
    });
    return async (method, path) => {
      const answer = await pay(url + path, { method });
      return [answer.status, answer.headers.get('payment-response'), await answer.text()];
    };
  },
  // @x402/axios: an interceptor.
  async axios() {
    const { wrapAxiosWithPaymentFromConfig } = await import('@x402/axios');
    const { ExactEvmScheme } = await import('@x402/evm');
    const { default: axios } = await import('axios');
    const api = wrapAxiosWithPaymentFromConfig(axios.create({ baseURL: url }), {
      schemes: [{ network, client: new ExactEvmScheme(account) }], spendControls: await controls(),
    });
    return async (method, path) => {
      const answer = await api.request({ method, url: path, responseType: 'text', transformResponse: text => text });
      return [answer.status, answer.headers['payment-response'], answer.data];
    };
  },
  // mppx: a client of MPP that pays x402, too.
  async mppx() {
    const { Mppx, evm } = await import('mppx/client');
    const pay = Mppx.create({ methods: [evm.charge({ account, authorization: { name: 'Global Dollar', version: '1' } })], polyfill: false });
    return async (method, path) => {
      const answer = await pay.fetch(url + path, { method });
      return [answer.status, answer.headers.get('payment-response'), await answer.text()];
    };
  },
};

const call = await clients[client]();
for (const path of paths) {
  const begun = performance.now();
  const [method, target] = path.startsWith('POST ') ? path.split(' ') : ['GET', path];
  const buys = target.startsWith('/v1/credits?');
  const [status, receipt, text] = await call(method, target);
  assert.equal(status, buys ? 201 : 200, path);
  const told = JSON.parse(atob(receipt));
  assert.equal(told.success, true);
  assert.equal(told.payer, account.address);
  assert.match(told.transaction, /^0x[0-9a-f]{64}$/);
  console.log(`${client} paid ${path} in ${Math.round(performance.now() - begun)} ms`);
  if (buys) {
    const bought = JSON.parse(text);
    assert.equal(bought.creditBalance, 1000);
    const answer = await fetch(url + '/v1/cite?ref=1', { headers: { authorization: `Bearer ${bought.key}` } });
    assert.equal(answer.status, 200, 'a call with the key');
    assert.ok(answer.headers.has('x-credits-remaining'), 'a call by credits');
  }
}
console.log('ok');
process.exit(0); // a client may keep a connection
