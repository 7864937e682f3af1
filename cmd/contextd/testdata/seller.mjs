// A service that is paid by a stock server of x402: node seller.mjs PAY_TO. It prints its address, and what it has sold. The facilitator is
// a stub that checks what a facilitator checks without a chain, and has settled at once.
import { paymentMiddleware, x402ResourceServer } from '@x402/express';
import { ExactEvmScheme } from '@x402/evm/exact/server';
import { recoverTypedDataAddress } from 'viem';
import express from 'express';

const payTo = process.argv[2];
const network = 'eip155:8453';
const used = new Set();
const types = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' }, { name: 'to', type: 'address' }, { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' }, { name: 'validBefore', type: 'uint256' }, { name: 'nonce', type: 'bytes32' },
  ],
};

async function verify(payload, requirements) {
  const { authorization: a, signature } = payload.payload;
  const domain = { ...requirements.extra, chainId: 8453, verifyingContract: requirements.asset };
  const message = { ...a, value: BigInt(a.value), validAfter: BigInt(a.validAfter), validBefore: BigInt(a.validBefore) };
  const signer = await recoverTypedDataAddress({
    domain: { name: domain.name, version: domain.version, chainId: 8453, verifyingContract: requirements.asset },
    types, primaryType: 'TransferWithAuthorization', message, signature,
  });
  const now = Date.now() / 1000;
  const good = signer === a.from && a.to === requirements.payTo && a.value === requirements.amount && now < a.validBefore && !used.has(a.nonce);
  return { isValid: good, invalidReason: good ? undefined : 'invalid_exact_evm_payload', payer: a.from };
}

const facilitator = {
  verify,
  async settle(payload, requirements) {
    const { isValid, invalidReason, payer } = await verify(payload, requirements);
    used.add(payload.payload.authorization.nonce);
    return { success: isValid, errorReason: invalidReason, payer, network, transaction: payload.payload.authorization.nonce };
  },
  async getSupported() {
    return { kinds: [{ x402Version: 2, scheme: 'exact', network }], extensions: [], signers: {} };
  },
};

const app = express();
const price = { scheme: 'exact', network, payTo };
app.use(paymentMiddleware({
  'GET /report': { accepts: [{ ...price, price: '$0.01' }, { ...price, price: '$0.002' }], description: 'A report', mimeType: 'text/plain' },
  'POST /report': { accepts: { ...price, price: '$0.003' }, description: 'A report', mimeType: 'application/json' },
}, new x402ResourceServer(facilitator).register(network, new ExactEvmScheme())));
app.use(express.json());
app.get('/report', (request, response) => response.type('text/plain').send(`sold ${request.query.of}`));
app.post('/report', (request, response) => response.json({ sold: request.body }));
const server = app.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
