// What a stock client of x402 does with a service: node standard.mjs URL PRIVATE_KEY TOKEN PATH…
import { decodePaymentResponseHeader, wrapFetchWithPaymentFromConfig } from '@x402/fetch';
import { ExactEvmScheme } from '@x402/evm';
import { privateKeyToAccount } from 'viem/accounts';
import assert from 'node:assert/strict';

const [url, key, asset, ...paths] = process.argv.slice(2);
const account = privateKeyToAccount(key);
const network = 'eip155:46630';
const pay = wrapFetchWithPaymentFromConfig(fetch, {
  schemes: [{ network, client: new ExactEvmScheme(account) }],
  spendControls: { allowedAssets: [{ network, asset }] }, // a test token is on nobody's list
});
for (const path of paths) {
  const [method, target] = path.startsWith('POST ') ? ['POST', path.slice(5)] : ['GET', path];
  const begun = performance.now();
  const answer = await pay(url + target, { method });
  const body = await answer.text();
  assert.equal(answer.status, 200, `${path}: ${body}`);
  const receipt = decodePaymentResponseHeader(answer.headers.get('PAYMENT-RESPONSE'));
  assert.equal(receipt.success, true);
  assert.equal(receipt.payer, account.address);
  assert.match(receipt.transaction, /^0x[0-9a-f]{64}$/);
  console.log(`paid ${path} in ${Math.round(performance.now() - begun)} ms`);
}
console.log('ok');
