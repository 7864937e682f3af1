// What stock clients of x402 do with a service: node standard.mjs URL PRIVATE_KEY TOKEN CLIENT CALL…
import { privateKeyToAccount } from 'viem/accounts';
import assert from 'node:assert/strict';

const [url, key, asset, client, ...paths] = process.argv.slice(2);
const account = privateKeyToAccount(key);
const network = 'eip155:46630';

const clients = {
  // @x402/fetch: the reference.
  async fetch() {
    const { wrapFetchWithPaymentFromConfig } = await import('@x402/fetch');
    const { ExactEvmScheme } = await import('@x402/evm');
    const pay = wrapFetchWithPaymentFromConfig(fetch, {
      schemes: [{ network, client: new ExactEvmScheme(account) }],
      spendControls: { allowedAssets: [{ network, asset }] }, // a test token is on nobody's list
    });
    return async path => {
      const [method, target] = path.startsWith('POST ') ? ['POST', path.slice(5)] : ['GET', path];
      const answer = await pay(url + target, { method });
      return [answer.status, answer.headers.get('payment-response')];
    };
  },
  // @x402/axios: an interceptor.
  async axios() {
    const { wrapAxiosWithPaymentFromConfig } = await import('@x402/axios');
    const { ExactEvmScheme } = await import('@x402/evm');
    const { default: axios } = await import('axios');
    const api = wrapAxiosWithPaymentFromConfig(axios.create({ baseURL: url }), {
      schemes: [{ network, client: new ExactEvmScheme(account) }], spendControls: { allowedAssets: [{ network, asset }] },
    });
    return async path => {
      const answer = await api.get(path);
      return [answer.status, answer.headers['payment-response']];
    };
  },
  // mppx: a client of MPP that pays x402, too.
  async mppx() {
    const { Mppx, evm } = await import('mppx/client');
    const pay = Mppx.create({ methods: [evm.charge({ account, authorization: { name: 'Global Dollar', version: '1' } })], polyfill: false });
    return async path => {
      const answer = await pay.fetch(url + path);
      return [answer.status, answer.headers.get('payment-response')];
    };
  },
};

const call = await clients[client]();
for (const path of paths) {
  const begun = performance.now();
  const [status, receipt] = await call(path);
  assert.equal(status, 200, path);
  const told = JSON.parse(atob(receipt));
  assert.equal(told.success, true);
  assert.equal(told.payer, account.address);
  assert.match(told.transaction, /^0x[0-9a-f]{64}$/);
  console.log(`${client} paid ${path} in ${Math.round(performance.now() - begun)} ms`);
}
console.log('ok');
process.exit(0); // a client may keep a connection
