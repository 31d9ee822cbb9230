import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, test } from 'node:test'
import { exportSPKI, type JWTPayload, UnsecuredJWT } from 'jose'
import { generatePair } from '../testing/issuers.ts'
import {
  dataKey,
  findIssuer,
  type GoogleWorld,
  guestProvider,
  kaclsUrl,
  provider,
  startGoogle,
  type TokenOptions,
} from './testing/world.ts'

let world: GoogleWorld
before(async () => {
  world = await startGoogle()
})
after(() => world[Symbol.asyncDispose]())

const now = () => Math.floor(Date.now() / 1000)

async function wrapWith(tokens: { authentication?: unknown; authorization?: unknown }) {
  const { status, json, text, headers } = await world.post('wrap', {
    ...(await world.tokens()),
    key: dataKey,
    reason: '',
    ...tokens,
  })
  assert.equal(headers['content-type']?.startsWith('application/json'), true)
  if (status !== 200) {
    assert.deepEqual(Object.keys(json), ['code', 'message', 'details'], text)
    assert.equal(json.code, status)
    assert.match(json.details, /^request \S+$/)
  }
  return status
}

const b64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

test('the right tokens are accepted: what follows fails for its one difference', async () => {
  assert.equal(await wrapWith({}), 200)
})

/** Claims with times are computed when their test runs: a slow machine loads this file minutes before. */
type Claims = JWTPayload | (() => JWTPayload)
const claimsNow = (claims: Claims): JWTPayload => (typeof claims === 'function' ? claims() : claims)

const wrongAuthorizations: readonly (readonly [string, Claims, TokenOptions?])[] = [
  ['of another issuer of Google', { iss: findIssuer('meet') }],
  ['of no issuer', { iss: undefined } as unknown as JWTPayload],
  [
    'of an issuer that nobody knows',
    { iss: 'evil@system.gserviceaccount.com' },
    { signer: findIssuer('drive') },
  ],
  ['of the identity provider', { iss: provider }, { signer: provider }],
  ['signed by another issuer', {}, { signer: provider }],
  ['signed by another application of Google', {}, { signer: findIssuer('meet') }],
  ['for another audience', { aud: 'cse' }],
  ['for no audience', { aud: undefined } as unknown as JWTPayload],
  ['for migration', { aud: 'kacls-migration' }],
  ['for another key service', { kacls_url: 'https://evil.example.com/google_cse' }],
  ['for a key service below this one', { kacls_url: `${kaclsUrl}/x` }],
  ['for this one in other letters', { kacls_url: kaclsUrl.toUpperCase() }],
  ['for no key service', { kacls_url: undefined }],
  ["for another owner's domain", { kacls_owner_domain: 'evil.example.com' }],
  ['expired', () => ({ exp: now() - 61, iat: now() - 600 })],
  ['without an end', { exp: undefined } as unknown as JWTPayload],
  ['without a beginning', { iat: undefined } as unknown as JWTPayload],
  ['of the future', () => ({ nbf: now() + 120 })],
  ['issued in the future', () => ({ iat: now() + 120 })],
  ['without a role', { role: undefined }],
  ['with a role that nobody knows', { role: 'owner' }],
  ['with several roles', { role: ['reader', 'writer'] }],
  ['with a role of Gmail', { role: 'signer' }],
  ['with a role of migration', { role: 'migrator' }],
  ['without a resource', { resource_name: undefined }],
  ['with an empty resource', { resource_name: '' }],
  ['with a resource of 129 bytes', { resource_name: `${'é'.repeat(64)}x` }],
  ['with a perimeter of 129 bytes', { perimeter_id: 'x'.repeat(129) }],
  ['with a resource that is a list', { resource_name: ['item123'] }],
  ['without an e-mail address', { email: undefined }],
  ['of several e-mail addresses', { email: ['alice@example.com'] }],
  ['with a kind of e-mail address that nobody knows', { email_type: 'anybody' }],
  ['with half of a surrogate pair', { resource_name: '\ud800' }],
]
for (const [name, claims, options] of wrongAuthorizations) {
  test(`an authorization token ${name} is not accepted`, async () => {
    assert.equal(
      await wrapWith({ authorization: await world.authorization(claimsNow(claims), options) }),
      401,
    )
  })
}

const wrongAuthentications: readonly (readonly [string, Claims, TokenOptions?])[] = [
  ['of another issuer', { iss: 'https://evil.example.com' }],
  ['signed by Google', {}, { signer: findIssuer('drive') }],
  ['of an issuer whose name begins the same', { iss: `${provider}/` }, { signer: provider }],
  ['for another audience', { aud: 'another' }],
  ['expired', () => ({ exp: now() - 61 })],
  ['of the future', () => ({ nbf: now() + 120 })],
  ['without an e-mail address', { email: undefined }],
  ['whose e-mail address was not verified', { email_verified: false }],
  ['with an empty google_email', { google_email: '' }],
  ['that a provider says is delegated', { delegated_to: 'bob@example.com', resource_name: 'item123' }],
  ['that says it is of this service', { iss: kaclsUrl, aud: 'kacls-delegation' }, { signer: provider }],
  ['that says it is of a trial', { iss: `${kaclsUrl}/trial`, aud: 'warder-trial' }, { signer: provider }],
]
for (const [name, claims, options] of wrongAuthentications) {
  test(`an authentication token ${name} is not accepted`, async () => {
    assert.equal(
      await wrapWith({ authentication: await world.authentication(claimsNow(claims), options) }),
      401,
    )
  })
}

const otherPeople: readonly (readonly [string, JWTPayload])[] = [
  ['another person', { email: 'bob@example.com' }],
  ['a name that lower case of Unicode would make equal', { email: 'al\u0131ce@example.com' }],
  ['a Kelvin sign for the letter k', { email: 'alice@example.com', google_email: 'alice@e\u212Aample.com' }],
  ['the same letters composed in another way', { email: 'a\u0301lice@example.com' }],
  ['another domain', { email: 'alice@example.org' }],
  ['blanks around it', { email: ' alice@example.com' }],
]
const noAddresses = new Set([
  'a Kelvin sign for the letter k',
  'the same letters composed in another way',
  'blanks around it',
])
for (const [name, claims] of otherPeople) {
  test(`tokens of two people are not accepted: ${name}`, async () => {
    const status = await wrapWith({ authentication: await world.authentication(claims) })
    assert.equal(status, noAddresses.has(name) ? 401 : 403)
  })
}

test('e-mail addresses are one person whatever the case of A to Z', async () => {
  const authentication = await world.authentication({ email: 'ALICE@Example.com' })
  assert.equal(await wrapWith({ authentication }), 200)
  assert.equal(world.kms.audit.at(-1)?.principal, 'google:alice@example.com')
})

test('google_email counts alone where the token has it', async () => {
  const right = await world.authentication({ email: 'a123@corp.example', google_email: 'Alice@example.com' })
  assert.equal(await wrapWith({ authentication: right }), 200)
  const wrong = await world.authentication({ email: 'alice@example.com', google_email: 'bob@example.com' })
  assert.equal(await wrapWith({ authentication: wrong }), 403)
})

test('roles are not swapped: a reader does not wrap, an upgrader does not unwrap, nobody of Drive does the rest', async () => {
  assert.equal(await wrapWith({ authorization: await world.authorization({ role: 'upgrader' }) }), 200)
  assert.equal(await wrapWith({ authorization: await world.authorization({ role: 'reader' }) }), 403)
  const { wrapped_key } = (await world.post('wrap', { ...(await world.tokens()), key: dataKey })).json
  const cases = [
    ['unwrap', { role: 'upgrader' }, 403],
    ['digest', { role: 'writer' }, 403],
    ['rewrap', { role: 'writer' }, 403],
    ['privatekeysign', { role: 'writer' }, 403],
    ['privatekeydecrypt', { role: 'writer' }, 403],
    ['delegate', { role: 'upgrader' }, 403],
  ] as const
  for (const [operation, claims, status] of cases) {
    const answer = await world.post(operation, {
      ...(await world.tokens(claims)),
      wrapped_key,
      wrapped_private_key: 'AAAA',
      algorithm: 'SHA256withRSA',
      digest: 'AAAA',
      encrypted_data_encryption_key: 'AAAA',
      original_kacls_url: 'https://other.example.com',
    })
    assert.equal(answer.status, status, `${operation} ${answer.text}`)
  }
  const migrator = await world.authorization({ role: 'migrator' }, { application: 'migration' })
  assert.equal((await world.post('digest', { authorization: migrator, wrapped_key })).status, 403)
  const verifier = await world.authorization({ role: 'verifier' }, { application: 'migration' })
  const answer = await world.post('rewrap', {
    authorization: verifier,
    wrapped_key,
    original_kacls_url: 'https://other.example.com',
  })
  assert.equal(answer.status, 403)
})

test('tokens without a signature, with one of another kind, or that bring their key along are not accepted', async () => {
  const claims = {
    iss: findIssuer('drive'),
    aud: 'cse-authorization',
    iat: now(),
    exp: now() + 300,
    email: 'alice@example.com',
    kacls_url: kaclsUrl,
    resource_name: 'item123',
    role: 'writer',
  }
  const { publicKey } = await generatePair(findIssuer('drive'))
  const unsigned = new UnsecuredJWT(claims).encode()
  const macHead = `${b64({ alg: 'HS256', kid: findIssuer('drive') })}.${b64(claims)}`
  const mac = createHmac('sha256', await exportSPKI(publicKey))
    .update(macHead)
    .digest('base64url')
  const evil = 'https://127.0.0.1:1/keys'
  const right = await world.authorization()
  const [head = '', body = '', signature = ''] = right.split('.')
  const tokens: readonly [string, string][] = [
    ['none', unsigned],
    ['none, with another spelling', `${b64({ alg: 'NoNe' })}.${b64(claims)}.`],
    ['a MAC with the public key', `${macHead}.${mac}`],
    ['jku', await world.authorization({}, { signer: 'evil', header: { kid: 'evil', jku: evil } })],
    ['x5u', await world.authorization({}, { signer: 'evil', header: { kid: 'evil', x5u: evil } })],
    ['crit', await world.authorization({}, { header: { crit: ['b64'], b64: true } })],
    ['another kid', await world.authorization({}, { header: { kid: 'unknown' } })],
    ['another type', await world.authorization({}, { header: { typ: 'logout+jwt' } })],
    ['a changed body', `${head}.${b64({ ...claims, role: 'reader' })}.${signature}`],
    ['no signature', `${head}.${body}.`],
    ['four parts', `${right}.x`],
    ['a member twice', `${head}.${Buffer.from('{"iss":"a","iss":"b"}').toString('base64url')}.${signature}`],
    ['too long', `${right}${'A'.repeat(20_000)}`],
    ['no token', 'x'],
  ]
  const asked = world.issuers.requests.length
  for (const [name, authorization] of tokens) {
    assert.equal(await wrapWith({ authorization }), 401, name)
    assert.equal(await wrapWith({ authentication: authorization }), 401, name)
  }
  const fetched = world.issuers.requests.slice(asked)
  assert.ok(
    fetched.every((url) => url.startsWith('/keys/')),
    String(fetched),
  )
})

test('without tokens, and with others than texts, nobody is let in', async () => {
  for (const missing of [undefined, '', null, 7, {}, []]) {
    assert.equal(await wrapWith({ authentication: missing }), 401)
    assert.equal(await wrapWith({ authorization: missing }), 401)
  }
  assert.equal((await world.post('wrap', {})).status, 401)
  assert.equal((await world.post('wrap', [])).status, 400)
  const broken = await world.kms.with({}).call('POST', '/google_cse/wrap', { text: '{"key":' })
  assert.equal(broken.status, 400)
  assert.equal(broken.json.code, 400)
})

test('a session of this service, its cookie and its certificate do not stand in for the tokens', async () => {
  const body = { key: dataKey, reason: '' }
  assert.equal((await world.kms.user('cse-owner').post('/google_cse/wrap', body)).status, 401)
})

test('of several audiences one has to be this service, and each has to be a text', async () => {
  for (const [aud, status] of [
    [['another', 'cse'], 200],
    [['another'], 401],
    [[], 401],
    [[['cse']], 401],
    [{ 0: 'cse' }, 401],
    [['kacls-migration', 'kacls-delegation', 'cse-authorization', 'warder-trial'], 401],
  ] as const)
    assert.equal(
      await wrapWith({ authentication: await world.authentication({ aud } as unknown as JWTPayload) }),
      status,
      JSON.stringify(aud),
    )
  // The two tokens do not stand in for each other.
  const { authentication, authorization } = await world.tokens()
  assert.equal(await wrapWith({ authentication: authorization, authorization: authentication }), 401)
  assert.equal(await wrapWith({ authentication, authorization: authentication }), 401)
  assert.equal(await wrapWith({ authentication: authorization, authorization }), 401)
})

test('a member that is there twice is refused: it might be verified as one and used as the other', async () => {
  const { authentication, authorization } = await world.tokens()
  const other = await world.authorization({ resource_name: 'another', role: 'reader' })
  const text = (first: string, second: string) =>
    `{"authorization":"${first}","authentication":"${authentication}","key":"${dataKey}","authorization":"${second}"}`
  for (const doubled of [text(authorization, other), text(other, authorization)]) {
    const answer = await world.kms.with({}).call('POST', '/google_cse/wrap', { text: doubled })
    assert.equal(answer.status, 400, answer.text)
    assert.equal(answer.json.wrapped_key, undefined)
  }
})

test('guests are refused unless a provider of guests says who they are', async () => {
  for (const email_type of ['google-visitor', 'customer-idp'])
    assert.equal(await wrapWith({ authorization: await world.authorization({ email_type }) }), 403)
  assert.equal(await wrapWith({ authorization: await world.authorization({ email_type: 'google' }) }), 200)
})

test('a provider of guests says who guests are, and nobody else', async () => {
  await generatePair(guestProvider)
  await using visitors = await startGoogle({
    config: {
      'google_cse_config.google_cse_guest_identity_providers': [
        `${guestProvider},${world.issuers.url}/keys/${encodeURIComponent(guestProvider)},cse`,
      ],
    },
  })
  const guest = { email: 'carol@partner.example' }
  const wrap = async (authorization: JWTPayload, authentication: JWTPayload) => {
    const { status } = await visitors.post('wrap', {
      authorization: await visitors.authorization({ ...guest, ...authorization }),
      authentication: await visitors.authentication({ ...guest, ...authentication }),
      key: dataKey,
    })
    return status
  }
  const visitor = { email_type: 'google-visitor' }
  assert.equal(await wrap(visitor, { iss: guestProvider }), 200)
  assert.equal(visitors.kms.audit.at(-1)?.details?.email_type, 'google-visitor')
  assert.equal(visitors.kms.audit.at(-1)?.details?.identity_provider, guestProvider)
  assert.equal(await wrap({ email_type: 'customer-idp' }, { iss: guestProvider }), 200)
  assert.equal(await wrap(visitor, {}), 403, 'a guest of the provider of the organisation')
  assert.equal(
    await wrap({}, { iss: guestProvider }),
    403,
    'somebody of the organisation by the provider of guests',
  )
})

test('what was refused is recorded with its reason, and the log says why', async () => {
  const authorization = await world.authorization({ kacls_url: 'https://evil.example.com' })
  assert.equal(await wrapWith({ authorization }), 401)
  const record = world.kms.audit.at(-1)
  assert.equal(record?.outcome, 'failure')
  assert.equal(record?.status, 401)
  assert.match(world.kms.log.at(-1) ?? '', /another kacls_url/)
  assert.ok(!world.kms.log.some((line) => line.includes(authorization)))
})
