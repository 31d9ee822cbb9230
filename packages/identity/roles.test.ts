import assert from 'node:assert/strict'
import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Enumeration, enumeration, structure, Tag, textString } from '@warder/kmip-codec'
import { kmipClient } from '@warder/kmip-server/testing'
import { type Caller, type Started, type StartOptions, startKms } from '@warder/kms/testing'
import {
  generalName,
  issueCertificate,
  type NameParts,
  nameFromParts,
  profileExtensions,
  readCertificate,
} from '@warder/pki'
import { der } from '@warder/pki/testing'
import { issueCertificate as issueAuthority, publicJwk, signToken } from '@warder/server'
import { sessionCookie } from './session-cookie.ts'

type Claims = Readonly<Record<string, unknown>>

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const jwk = publicJwk(publicKey)
const folder = mkdtempSync(join(tmpdir(), 'warder-roles-'))
const file = join(folder, 'issuers.json')
writeFileSync(file, JSON.stringify({ keys: [jwk] }))
after(() => rmSync(folder, { recursive: true }))
const now = () => Math.floor(Date.now() / 1000)

/** A token of an issuer; all issuers of this file have one key, so that only the issuer tells them apart. */
function token(iss: string, claims: Claims): string {
  const header = { alg: 'ES256', typ: 'JWT', kid: jwk.kid ?? '' }
  return signToken(header, { iss, sub: 'bob', exp: now() + 600, ...claims }, privateKey)
}

async function readRoles(caller: Caller): Promise<readonly string[]> {
  const { status, json, text } = await caller.get('/me')
  assert.equal(status, 200, text)
  assert.notDeepEqual(json.roles, [], 'no roles are no member')
  return json.roles ?? []
}

/** A kms that accepts two issuers and the sessions of all realms. */
async function startWith(sources: readonly string[], config: StartOptions['config'] = {}): Promise<Started> {
  return startKms({
    clientCertificates: true,
    config: {
      jwt_auth_provider: [`https://one.test,file:${file}`, `https://two.test,file:${file}`],
      role_sources: sources,
      ...config,
    },
  })
}

const asIssuer = (kms: Started, iss: string, claims: Claims) =>
  readRoles(kms.with({ authorization: `Bearer ${token(iss, claims)}` }))

const asRealm = (kms: Started, realm: string, claims: Claims) =>
  readRoles(
    kms.with({
      authorization: `Bearer ${kms.token({ sub: 'bob', aud: [realm], as_rid: realm, ...claims })}`,
    }),
  )

test('a role is one of its source: tokens of another issuer, sessions and certificates do not give it', async () => {
  await using kms = await startWith([
    'corp,jwt,https://one.test,groups',
    'partner,jwt,https://two.test,groups',
    'staff,session,eng',
  ])
  const claims = { groups: ['auditor'], roles: ['auditor'] }
  assert.deepEqual(await asIssuer(kms, 'https://one.test', claims), ['role:corp/auditor'])
  assert.deepEqual(await asIssuer(kms, 'https://two.test', claims), ['role:partner/auditor'])
  assert.deepEqual(await asRealm(kms, 'eng', claims), ['role:staff/auditor'])
  assert.deepEqual(await asRealm(kms, '_', claims), [])
  assert.deepEqual(await asRealm(kms, 'eng2', claims), [])
  assert.deepEqual(await readRoles(kms.certified()), [])
  // The second time the verified token comes from the cache.
  const caller = kms.with({ authorization: `Bearer ${token('https://one.test', claims)}` })
  for (const _ of [1, 2]) assert.deepEqual(await readRoles(caller), ['role:corp/auditor'])
})

test('without sources no credential has roles', async () => {
  await using kms = await startWith([])
  const claims = { groups: ['auditor'], roles: ['auditor'] }
  assert.deepEqual(await asIssuer(kms, 'https://one.test', claims), [])
  assert.deepEqual(await asRealm(kms, 'eng', claims), [])
})

test('a path leads through own members of objects, and a name with dots is a JSON Pointer', async () => {
  await using kms = await startWith([
    'nested,jwt,https://one.test,realm_access.roles',
    'flat,jwt,https://two.test,/realm_access.roles',
    'url,jwt,https://two.test,/https:~1~1idp.test~1a~0b',
  ])
  const read = (claims: Claims) => asIssuer(kms, 'https://one.test', claims)
  assert.deepEqual(await read({ realm_access: { roles: ['a'] } }), ['role:nested/a'])
  for (const claims of [
    { 'realm_access.roles': ['a'] },
    { realm_access: [{ roles: ['a'] }] },
    { realm_access: 'roles' },
    { realm_access: null },
    { realm_access: { Roles: ['a'] } },
    { roles: ['a'] },
  ])
    assert.deepEqual(await read(claims), [], JSON.stringify(claims))
  const two = { realm_access: { roles: ['a'] }, 'realm_access.roles': ['b'], 'https://idp.test/a~b': 'c' }
  assert.deepEqual(await asIssuer(kms, 'https://two.test', two), ['role:flat/b', 'role:url/c'])
})

test('members that every object inherits are no claims', async () => {
  await using kms = await startWith([
    'a,jwt,https://one.test,__proto__.roles',
    'b,jwt,https://one.test,constructor.name',
    'c,jwt,https://one.test,roles.length',
    'd,jwt,https://one.test,toString',
  ])
  assert.deepEqual(await asIssuer(kms, 'https://one.test', { roles: 'x' }), [])
  assert.doesNotMatch(kms.log.join(), /skipped/, 'an inherited function is not even a value')
  const own = { constructor: { name: 'y' } }
  assert.deepEqual(await asIssuer(kms, 'https://one.test', own), ['role:b/y'])
  // Tokens with such a member are refused as a whole, also below others.
  const polluted = JSON.parse('{"__proto__":{"roles":["x"]},"roles":"y"}')
  for (const claims of [polluted, { x: polluted }]) {
    const authorization = `Bearer ${token('https://one.test', claims)}`
    assert.equal((await kms.with({ authorization }).get('/me')).status, 401)
  }
  assert.equal(({} as { roles?: unknown }).roles, undefined)
})

test('names of roles are exact, and values that are none are skipped with one line in the log', async () => {
  await using kms = await startWith(['corp,jwt,https://one.test,groups'])
  const read = (groups: unknown) => asIssuer(kms, 'https://one.test', { groups })
  const names = (...roles: string[]) => roles.map((role) => `role:corp/${role}`)
  assert.deepEqual(await read('one'), names('one'))
  // Groups of Keycloak are paths; case, composition and alphabets are kept apart.
  const apart = [
    '/staff/audit',
    'a/../b',
    'Audit',
    'audit',
    '\u0430udit',
    'Zo\u00eb',
    'Zoe\u0308',
    'a,b',
    'role:x/y',
  ]
  assert.deepEqual(await read([...apart, 'audit']), names(...apart))
  const before = kms.log.length
  const none = [
    '',
    ' ',
    '*',
    '.',
    '..',
    ' audit',
    'audit\n',
    'au\u0007dit',
    'au\u200bdit',
    'audit\u202e',
    '\ufffd',
    'x'.repeat(129),
    1,
    true,
    null,
    { name: 'audit' },
    ['audit'],
  ]
  assert.deepEqual(await read([...none, 'last', 'x'.repeat(128)]), names('last', 'x'.repeat(128)))
  const lines = kms.log.slice(before).filter((line) => /skipped/.test(line))
  assert.equal(lines.length, 1)
  assert.match(
    lines[0] ?? '',
    new RegExp(`"principal":"bob".*"sources":\\["corp"\\].*"skipped":${none.length}\\b`),
  )
  for (const claim of [{ audit: true }, { 0: 'audit', length: 1 }, 7, true, [], null])
    assert.deepEqual(await read(claim), [], JSON.stringify(claim))
})

test('a prefix selects the values of a source and is no part of the roles', async () => {
  await using kms = await startWith([
    'corp,jwt,https://one.test,groups,warder-',
    'other,jwt,https://one.test,groups,aws-',
    'staff,session,eng,warder/',
  ])
  const groups = ['warder-auditor', 'Warder-admin', 'aws-root', 'mail', 'warder-', 'auditor', 'xwarder-a']
  assert.deepEqual(await asIssuer(kms, 'https://one.test', { groups }), [
    'role:corp/auditor',
    'role:other/root',
  ])
  assert.deepEqual(await asRealm(kms, 'eng', { roles: ['warder/a', 'b'] }), ['role:staff/a'])
  // Those of other prefixes are not counted against the bound.
  const many = Array.from({ length: 200 }, (_, index) => `mail-${index}`)
  assert.deepEqual(await asIssuer(kms, 'https://one.test', { groups: [...many, 'aws-root'] }), [
    'role:other/root',
  ])
})

test('more than 64 roles of one credential are none of them, and the log says so', async () => {
  await using kms = await startWith(['corp,jwt,https://one.test,groups', 'more,jwt,https://one.test,more'])
  const count = (length: number, first = 0) => Array.from({ length }, (_, index) => String(first + index))
  const read = (claims: Claims) => asIssuer(kms, 'https://one.test', claims)
  assert.equal((await read({ groups: [...count(64), ...count(64)] })).length, 64, 'repeated ones count once')
  assert.doesNotMatch(kms.log.join(), /too many roles/)
  assert.deepEqual(await read({ groups: count(65) }), [])
  assert.match(kms.log.join(), /too many roles.*"principal":"bob".*"roles":65,"max_roles":64/)
  assert.deepEqual(await read({ groups: count(40), more: count(25) }), [])
  assert.deepEqual(await read({ groups: count(1000) }), [])
  // A token of 16 KiB has no room for 10,000; the login succeeds whatever the claim has.
  const { roles } = { roles: count(10_000) }
  const cookie = sessionCookie(kms.environment, { name: 'bob', realm: 'eng', roleClaims: { roles } })
  assert.ok(cookie.length < 4096)
})

test('a session of the web page keeps its claims, and the settings of now give the names', async () => {
  const logins = { auth_verifier_url: 'https://127.0.0.1:1' }
  await using kms = await startWith(['staff,session,eng'], logins)
  const { db, seal } = kms.environment
  const user = { name: 'eng/bob', realm: 'eng', roleClaims: { roles: ['auditor', 'x-reader'] } }
  const [cookie = ''] = sessionCookie(kms.environment, user).split(';')
  assert.deepEqual(await readRoles(kms.with({ cookie })), ['role:staff/auditor', 'role:staff/x-reader'])
  for (const [sources, roles] of [
    [[], []],
    [['staff,session,_'], []],
    [['staff,session,eng,x-'], ['role:staff/reader']],
    [['people,session,eng'], ['role:people/auditor', 'role:people/x-reader']],
  ] as const) {
    await using node = await startKms({ db, seal, config: { ...logins, role_sources: sources } })
    assert.deepEqual(await readRoles(node.with({ cookie })), roles, sources.join())
  }
})

test('roles that do not fit into the cookie of a session are none of them, and the log says so', async () => {
  await using kms = await startWith(['staff,session,eng'], { auth_verifier_url: 'https://127.0.0.1:1' })
  const roles = Array.from({ length: 64 }, (_, index) => `${index}-${'x'.repeat(100)}`)
  const [cookie = ''] = sessionCookie(kms.environment, {
    name: 'bob',
    realm: 'eng',
    roleClaims: { roles },
  }).split(';')
  assert.deepEqual(await readRoles(kms.with({ cookie })), [])
  assert.match(kms.log.join(), /do not fit into the session cookie.*"principal":"bob"/)
})

test('a login with a password has the roles of its session, over HTTP and in a KMIP header', async () => {
  await using first = await startKms()
  const tls = (name: string) => readFileSync(join(first.home, 'tls', name))
  const claims = Buffer.from(JSON.stringify({ roles: ['auditor'], as_sid: 'id', groups: ['admin'] }))
  const auth = createServer({ cert: tls('auth.crt'), key: tls('auth.key') }, (request, response) => {
    if (request.method === 'DELETE') return response.writeHead(204).end()
    response.setHeader('set-cookie', `_ea_=a.${claims.toString('base64url')}.b; Path=/`)
    return response.end('{"next_step":"Authenticated","session_id":"s1"}')
  })
  await new Promise<void>((resolve) => auth.listen(0, '127.0.0.1', resolve))
  try {
    const { port } = auth.address() as { port: number }
    await using kms = await startWith(['staff,session,eng', 'others,session,_'], {
      auth_verifier_url: `https://127.0.0.1:${port}`,
      auth_verifier_ca_cert: join(first.home, 'tls/ca.crt'),
    })
    for (const [username, role] of [
      ['eng/ann', 'role:staff/auditor'],
      ['ann', 'role:others/auditor'],
      ['shop/ann', undefined],
    ] as const) {
      const login = await kms.with({}).post('/ui/login', { username, password: 'correct horse' })
      const [cookie = ''] = login.headers['set-cookie']?.[0]?.split(';') ?? []
      assert.deepEqual(await readRoles(kms.with({ cookie })), role === undefined ? [] : [role])

      const made = await kms.user('alice').post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
      const user_id = role ?? 'role:staff/auditor'
      const granted = { unique_identifier: made.json.kid, user_id, operation_types: ['get_attributes'] }
      assert.equal((await kms.user('alice').post('/access/grant', granted)).status, 200)
      const authentication = structure(Tag.Authentication, [
        structure(Tag.Credential, [
          enumeration(Tag.CredentialType, Enumeration.CredentialType.UsernameAndPassword),
          structure(Tag.CredentialValue, [
            textString(Tag.Username, username),
            textString(Tag.Password, 'correct horse'),
          ]),
        ]),
      ])
      const get = {
        operation: 'GetAttributes',
        payload: [textString(Tag.UniqueIdentifier, made.json.kid)],
      } as const
      const { items } = await kmipClient(kms.certified()).send([get], { authentication })
      assert.equal(items[0]?.status, role === undefined ? 'OperationFailed' : 'Success', username)
    }
  } finally {
    auth.closeAllConnections()
    auth.close()
  }
})

/** A client certificate of the local authority. */
async function presenting(kms: Started, subject: NameParts, names: readonly Uint8Array[]): Promise<Caller> {
  const authority = new X509Certificate(readFileSync(join(kms.home, 'tls/ca.crt')))
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const spki = pair.publicKey.export({ format: 'der', type: 'spki' })
  const raw = await issueCertificate(
    {
      subject: nameFromParts(subject),
      spki,
      notBefore: Date.now() - 60_000,
      notAfter: Date.now() + 600_000,
      extensions: profileExtensions('client', { spki, names }),
    },
    {
      name: readCertificate(authority.raw).subject,
      key: createPrivateKey(readFileSync(join(kms.home, 'tls/ca.key'))),
      spki: authority.publicKey.export({ format: 'der', type: 'spki' }),
      keyIdentifier: undefined,
    },
  )
  const key = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  return kms.presenting(new X509Certificate(raw).toString(), key)
}

test('units and alternative names of a client certificate are roles, each by its own source', async () => {
  await using kms = await startWith([
    'unit,certificate,ou',
    'uri,certificate,san-uri,spiffe://corp.test/role/',
    'host,certificate,san-dns',
    'mail,certificate,san-email',
  ])
  const subject: NameParts = [
    ['O', 'corp'],
    ['OU', 'auditors'],
    ['OU', 'a/b, OU=admins'],
    ['CN', 'web1'],
  ]
  const names = [
    'URI:spiffe://corp.test/role/reader',
    'URI:spiffe://evil.test/role/admin',
    'DNS:web1.corp.test',
  ]
  const caller = await presenting(kms, subject, [...names, 'email:web@corp.test'].map(generalName))
  assert.deepEqual(await readRoles(caller), [
    'role:unit/auditors',
    'role:unit/a/b, OU=admins',
    'role:uri/reader',
    'role:host/web1.corp.test',
    'role:mail/web@corp.test',
  ])
  assert.deepEqual(await readRoles(kms.certified()), [])
})

test('a source of certificates with an authority reads those that this authority signed itself', async () => {
  const validity = { notBefore: new Date(), notAfter: new Date(Date.now() + 600_000) }
  // Another authority of the same name.
  const plan = {
    commonName: 'Warder local CA',
    purpose: 'authority',
    hostnames: [],
    addresses: [],
    ...validity,
  } as const
  await using first = await startKms()
  const own = readFileSync(join(first.home, 'tls/ca.crt'), 'utf8')
  const [, commonName = ''] = /CN=(.+)/.exec(new X509Certificate(own).subject) ?? []
  const other = await issueAuthority({ ...plan, commonName }, undefined)
  writeFileSync(join(folder, 'other.pem'), other.certificatePem)
  writeFileSync(join(folder, 'both.pem'), `${other.certificatePem}\n${own}`)
  await using kms = await startWith([
    'own,certificate,ou,,tls/ca.crt',
    `other,certificate,ou,,${folder}/other.pem`,
    `both,certificate,ou,aud,${folder}/both.pem`,
  ])
  const subject: NameParts = [
    ['OU', 'auditors'],
    ['CN', 'web1'],
  ]
  assert.deepEqual(await readRoles(await presenting(kms, subject, [])), [
    'role:own/auditors',
    'role:both/itors',
  ])
  writeFileSync(join(folder, 'empty.pem'), 'none')
  for (const file of ['missing.pem', 'empty.pem'])
    await assert.rejects(startWith([`web,certificate,ou,,${folder}/${file}`]), /role_sources: web.*\.pem/)
})

test('names of a certificate that could be taken for several are one value (CVE-2021-44532)', async () => {
  await using kms = await startWith([
    'uri,certificate,san-uri',
    'host,certificate,san-dns',
    'unit,certificate,ou',
  ])
  const uniform = (text: string) => der(0x86, Buffer.from(text, 'latin1'))
  const names = [uniform('a, DNS:b'), uniform('"DNS:c"'), uniform('d\u0000'), uniform('\u00ff\ufffd')]
  const caller = await presenting(
    kms,
    [
      ['CN', 'web2'],
      ['OU', 'x\u0000y'],
      ['OU', '*'],
    ],
    names,
  )
  assert.deepEqual(await readRoles(caller), [
    'role:uri/a, DNS:b',
    'role:uri/"DNS:c"',
    'role:uri/\u00ff\u00fd',
  ])
})

test('a source of credentials that are not accepted stops the start, by its name', async () => {
  const provider = { jwt_auth_provider: ['https://idp.test,file:jwks.json'] }
  const rows: [StartOptions['config'], string, string][] = [
    [
      provider,
      'corp,jwt,https://idp.test/,groups',
      'corp names the issuer https://idp.test/, which is neither in',
    ],
    [{}, 'corp,jwt,https://idp.test,groups', 'corp names the issuer https://idp.test'],
    [provider, 'staff,session,eng', 'staff reads sessions, which require auth_verifier_url'],
    [
      { auth_verifier_jwks: 'file:jwks.json', auth_verifier_realm: '_' },
      'staff,session,eng',
      'staff names the realm eng, and auth_verifier_realm accepts _ alone',
    ],
    [provider, 'web,certificate,ou', 'web reads client certificates, which require clients_ca_cert_file'],
    [
      { ...provider, force_default_username: true },
      'corp,jwt,https://idp.test,groups',
      'corp has no effect with force_default_username',
    ],
  ]
  for (const [config, source, line] of rows)
    await assert.rejects(
      startKms({ tokens: false, config: { ...config, role_sources: [source] } }),
      (error: Error) => {
        assert.equal(error.name, 'StartupError')
        assert.ok(error.message.startsWith(`role_sources: ${line}`), error.message)
        return true
      },
    )
  const oidc = {
    'ui_config.ui_oidc_auth.ui_oidc_issuer_url': 'https://idp.test',
    'ui_config.ui_oidc_auth.ui_oidc_client_id': 'warder',
  }
  await using kms = await startKms({
    tokens: false,
    config: { ...oidc, role_sources: ['corp,jwt,https://idp.test,groups'] },
  })
  assert.equal((await kms.with({}).get('/me')).status, 401)
})
