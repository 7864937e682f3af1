// A client of MCP signs in by the URL alone. It prints a line of JSON for each thing that it does, and for each that somebody else has to do.
//   node agents.mjs sdk|ai URL
import http from 'node:http';
import {once} from 'node:events';

const [which, url] = process.argv.slice(-2);
const tell = what => console.log(JSON.stringify(what));

// One server takes the redirect and the events of a subscription.
let hook, arrived;
const came = new Promise(done => { arrived = done; });
const server = http.createServer(async (req, res) => {
  if (req.url.startsWith('/callback')) {
    arrived(new URL(req.url, 'http://127.0.0.1').searchParams);
    res.setHeader('Content-Type', 'text/html');
    return res.end('<title>done</title><p id="done">You can close this page.');
  }
  if (!req.url.startsWith('/hook?')) { // of a browser's own
    res.statusCode = 404;
    return res.end();
  }
  const body = Buffer.concat(await req.toArray());
  const answer = await hook(new Request('http://127.0.0.1' + req.url, {method: req.method, headers: req.headers, body}));
  res.writeHead(answer.status, Object.fromEntries(answer.headers));
  res.end(Buffer.from(await answer.arrayBuffer()));
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const here = 'http://127.0.0.1:' + server.address().port;

const kept = {};
const provider = {
  redirectUrl: here + '/callback',
  clientMetadata: {client_name: 'Node ' + which, redirect_uris: [here + '/callback'], token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'], response_types: ['code']},
  state: () => 'st&te', saveState: s => { kept.state = s; }, storedState: () => kept.state,
  clientInformation: () => kept.client, saveClientInformation: c => { kept.client = c; },
  isClientInformationDynamicallyRegistered: () => true,
  tokens: () => kept.tokens, saveTokens: t => { kept.tokens = t; },
  saveCodeVerifier: v => { kept.verifier = v; }, codeVerifier: () => kept.verifier,
  authorizationServerInformation: () => kept.server, saveAuthorizationServerInformation: s => { kept.server = s; },
  redirectToAuthorization: where => tell({open: String(where)}),
};
const spoil = () => { kept.tokens = {...kept.tokens, access_token: 'cvo_' + 'x'.repeat(43)}; };

if (which === 'sdk') {
  const {Client} = await import('@modelcontextprotocol/sdk/client/index.js');
  const {StreamableHTTPClientTransport} = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const transport = () => new StreamableHTTPClientTransport(new URL(url), {authProvider: provider});
  const client = () => new Client({name: 'test', version: '1'});
  const first = transport();
  await client().connect(first).then(() => { throw new Error('it came in without a token'); }, () => {});
  const back = await came;
  await first.finishAuth(back.get('code'));
  tell({state: back.get('state'), iss: back.get('iss')});
  const agent = client();
  await agent.connect(transport());
  const call = () => agent.callTool({name: 'context.fresh', arguments: {}});
  tell({text: (await call()).content[0].text.slice(0, 80)});
  spoil();
  tell({refreshed: (await call()).content[0].text.slice(0, 80), token: kept.tokens.access_token.slice(0, 4)});
  await agent.close();
} else {
  const {createMCPClient, auth, experimental_createMCPEventWebhook: webhook} = await import('@ai-sdk/mcp');
  const list = new Map(), store = {
    get: async key => list.get(key), getById: async id => [...list.values()].find(s => s.id === id),
    set: async s => { list.set(s.key, s); }, update: async (key, patch) => { list.set(key, {...list.get(key), ...patch}); },
    delete: async key => { list.delete(key); },
  };
  hook = webhook({store, onEvent: async ({event}) => tell({event: event.eventId, name: event.name}), onError: e => tell({problem: String(e)})});
  const client = () => createMCPClient({transport: {type: 'http', url, authProvider: provider}, experimental_events: {store}});
  await client().then(() => { throw new Error('it came in without a token'); }, () => {});
  const back = await came;
  await auth(provider, {serverUrl: url, authorizationCode: back.get('code'), callbackState: back.get('state'), callbackIssuer: back.get('iss')});
  tell({state: back.get('state'), iss: back.get('iss')});
  const agent = await client();
  const call = async () => (await (await agent.tools())['context.fresh'].execute({}, {toolCallId: '1', messages: []})).content[0].text.slice(0, 80);
  tell({text: await call()});
  const events = agent.experimental_events;
  tell({types: (await events.list()).events.map(e => e.name)});
  const made = await events.subscribe({name: 'state.published', arguments: {}, delivery: {mode: 'webhook', url: here + '/hook', allowInsecureLocalhost: true}});
  tell({subscribed: made.id});
  await once(process.stdin, 'data');
  await events.refresh({id: made.id});
  await events.unsubscribe({id: made.id});
  spoil();
  tell({refreshed: await call(), token: kept.tokens.access_token.slice(0, 4)});
  await agent.close();
}
tell({done: true});
process.exit(0);
