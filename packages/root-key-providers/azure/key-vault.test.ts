import assert from 'node:assert/strict'
import {
  constants,
  createHash,
  generateKeyPairSync,
  randomBytes,
  verify as verifySignature,
  X509Certificate,
} from 'node:crypto'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { systemClock } from '@warder/base'
import type { RuntimeConfig } from '@warder/runtime/launch'
import { ensureLocalAuthority } from '@warder/server'
import type { AzureConfig } from '../cloud-settings.ts'
import { createRootKeyProvider } from '../providers.ts'
import { failAzure, startAzureCloud } from '../testing/azure-cloud.ts'
import { type Fault, isUnavailable, refuses, testDatabases, toContext } from '../testing/cloud-server.ts'
import { createAzureKeyVaultProvider } from './key-vault.ts'

const azure = await startAzureCloud()
const { cloud, tenant, clientId, secretFile, versions, addVersion, state, forms, serveVault } = azure
after(() => cloud.close())

const [first, second] = ['0123456789abcdef0123456789abcdef', 'fedcba9876543210fedcba9876543210']
const write = (text: string): void => writeFileSync(secretFile, text, { mode: 0o600 })

const settings: AzureConfig = {
  outbound_ca_file: cloud.caFile,
  proxy: undefined,
  'root_key_azure.key': `${cloud.url}/keys/root`,
  'root_key_azure.algorithm': 'RSA-OAEP-256',
  'root_key_azure.credentials': 'auto',
  'root_key_azure.tenant_id': tenant,
  'root_key_azure.client_id': clientId,
  'root_key_azure.client_secret_file': secretFile,
  'root_key_azure.client_certificate_file': undefined,
  'root_key_azure.authority': cloud.url,
  'root_key_azure.ca_file': undefined,
}
const create = (more: Partial<AzureConfig> = {}, env: NodeJS.ProcessEnv = {}, now = Date.now) =>
  createAzureKeyVaultProvider({ ...settings, ...more }, (path) => path, env, {
    now,
    monotonic: () => performance.now(),
  })

const context = toContext('kms')
const rootKey = randomBytes(32)

for (const algorithm of ['RSA-OAEP-256', 'A256KW', 'A256GCM'] as const)
  test(`a root key is wrapped and unwrapped with ${algorithm}, by the version that wrapped it`, async () => {
    state.keyType = algorithm === 'RSA-OAEP-256' ? 'RSA-HSM' : 'oct-HSM'
    const provider = create({ 'root_key_azure.algorithm': algorithm })
    assert.deepEqual([provider.source, provider.description], ['azure-key-vault', `${cloud.url}/keys/root`])
    const old = [...versions.keys()].at(-1)
    const wrapped = await provider.wrap(rootKey, context)
    assert.ok(Buffer.from(wrapped).includes(`${cloud.url}/keys/root/${old}`))
    if (!versions.has(second)) addVersion(second)
    assert.deepEqual(await provider.unwrap(wrapped, context), rootKey)
    const pinned = create({
      'root_key_azure.algorithm': algorithm,
      'root_key_azure.key': `${cloud.url}/keys/root/${first}`,
    })
    const old2 = await pinned.wrap(rootKey, context)
    assert.ok(Buffer.from(old2).includes(first))
    assert.deepEqual(await provider.unwrap(old2, context), rootKey)
    await refuses(
      provider.unwrap(wrapped, toContext('auth')),
      algorithm === 'A256GCM'
        ? /refused decrypt with 400 BadParameter: because\.; the wrapped root key was changed/
        : /unwrapped a value that is not the root key of this database/,
    )
    const changed = Buffer.from(wrapped)
    changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1
    for (const bytes of [changed, wrapped.subarray(0, -3)])
      await refuses(provider.unwrap(bytes, context), /refused (?:unwrapkey|decrypt) with 400 BadParameter/)
  })

test('a reply of another key or version, or without one, is refused', async () => {
  state.keyType = 'EC'
  await refuses(
    create().wrap(rootKey, context),
    /has the type EC, which does not fit root_key_azure\.algorithm RSA-OAEP-256/,
  )
  state.keyType = 'RSA'
  const foreign = { key: { kid: `https://other.vault.azure.net/keys/root/${second}`, kty: 'RSA' } }
  await cloud.withFault(
    ({ method }) => (method === 'GET' ? { status: 200, body: foreign } : undefined),
    () =>
      refuses(
        create().wrap(rootKey, context),
        /used the key https:\/\/other\.vault\S+, which is not root_key_azure\.key/,
      ),
  )
  const provider = create()
  const wrapped = await provider.wrap(rootKey, context)
  const naming =
    (kid: unknown): Fault =>
    (request) => {
      if (!request.path.startsWith('/keys/') || request.method === 'GET') return undefined
      const reply = serveVault(request)
      assert.ok(reply !== 'hang')
      return { ...reply, body: { ...(reply.body as object), kid } }
    }
  for (const kid of [
    `${cloud.url}/keys/other/${second}`,
    `https://other.vault.azure.net/keys/root/${second}`,
    `${cloud.url}/keys/root`,
    undefined,
    7,
  ])
    await cloud.withFault(naming(kid), () =>
      refuses(
        provider.wrap(rootKey, context),
        /used (?:no key|the key https:\S+), which is not the version \S+ of root_key_azure\.key/,
      ),
    )
  await cloud.withFault(naming(`${cloud.url}/keys/root/${first}`), () =>
    refuses(
      provider.unwrap(wrapped, context),
      new RegExp(`which is not the version ${second} of root_key_azure.key`),
    ),
  )
  const other = create({ 'root_key_azure.key': `${cloud.url}/keys/other` })
  await refuses(
    other.unwrap(wrapped, context),
    /root_key_azure\.key is \S+other, but \S+\/keys\/root\/\S+ wrapped the root key/,
  )
  for (const bytes of [Buffer.alloc(2), Buffer.of(2, 0, 1, 97, 1)])
    await refuses(provider.unwrap(bytes, context), /was not made by root_key_source azure-key-vault/)
  await cloud.withFault(
    ({ path }) =>
      path.startsWith('/keys/')
        ? { status: 200, body: { kid: `${cloud.url}/keys/root/${second}`, value: '+' } }
        : undefined,
    () => refuses(provider.unwrap(wrapped, context), /replied without a valid value/),
  )
})

test('each refusal of Key Vault is a sentence with what to do; throttling and failures are temporary', async () => {
  const provider = create()
  const wrapped = await provider.wrap(rootKey, context)
  const reply =
    (status: number, code: string, inner?: string): Fault =>
    ({ path }) =>
      path.startsWith('/keys/') ? failAzure(status, code, inner) : undefined
  for (const [status, code, inner, message] of [
    [
      403,
      'Forbidden',
      'ForbiddenByRbac',
      /403 Forbidden ForbiddenByRbac: because\.; permit get, wrapKey and unwrapKey on root to the application 66666666\S+ \(role Key Vault Crypto Service Encryption User/,
    ],
    [403, 'Forbidden', 'KeyDisabled', /enable the key: az keyvault key set-attributes --enabled true/],
    [403, 'Forbidden', 'ForbiddenByFirewall', /permit the address of this machine in the firewall/],
    [
      404,
      'KeyNotFound',
      undefined,
      /there is no such key or version in https:\S+: check root_key_azure\.key, or recover/,
    ],
    [400, 'BadParameter', undefined, /the wrapped root key was changed/],
    [
      401,
      'Unauthorized',
      undefined,
      /the token of the application \S+ is not accepted: check root_key_azure\.tenant_id/,
    ],
  ] as const)
    await cloud.withFault(reply(status, code, inner), () =>
      refuses(provider.unwrap(wrapped, context), message),
    )
  for (const status of [429, 500, 503])
    await cloud.withFault(reply(status, 'Throttled'), () =>
      isUnavailable(
        provider.unwrap(wrapped, context),
        new RegExp(`replied to unwrapkey with ${status} Throttled: because`),
      ),
    )
  const absent = create({ 'root_key_azure.key': 'https://127.0.0.1:9/keys/root' })
  await isUnavailable(absent.wrap(rootKey, context), /127\.0\.0\.1:9: .*ECONNREFUSED/)
})

test('a client secret is read at each use, renewed tokens are used, and a refusal names the file', async () => {
  let now = Date.now()
  const provider = create({}, {}, () => now)
  forms.length = 0
  const wrapped = await provider.wrap(rootKey, context)
  await provider.unwrap(wrapped, context)
  assert.deepEqual(
    forms.map((form) => form.get('client_secret')),
    ['secret~1'],
  )
  write('secret~2\n')
  state.accepted = 'token-2'
  await provider.unwrap(wrapped, context)
  now += 3_299_000
  await provider.unwrap(wrapped, context)
  assert.deepEqual(
    forms.map((form) => form.get('client_secret')),
    ['secret~1', 'secret~2', 'secret~2'],
  )
  await cloud.withFault(
    () => ({
      status: 401,
      body: {
        error: 'invalid_client',
        error_description: 'AADSTS7000215: Invalid client secret provided.\r\nTrace ID: x',
      },
    }),
    () =>
      refuses(
        create().wrap(rootKey, context),
        /\/oauth2\/v2\.0\/token refused the token request with 401 invalid_client AADSTS7000215: Invalid client secret provided\. Trace ID: x; check that root_key_azure\.client_secret_file is the value of a client secret/,
      ),
  )
  chmodSync(secretFile, 0o644)
  assert.throws(() => create(), /root_key_azure\.client_secret_file: \S+ can be read by others/)
  write('')
  chmodSync(secretFile, 0o600)
  assert.throws(() => create(), /must contain exactly one line, the client secret/)
  write('secret~1\n')
})

test('a client certificate signs an assertion that Entra ID can verify', async () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const folder = join(cloud.folder, 'client')
  await ensureLocalAuthority({
    folder,
    clock: systemClock,
    certificates: [{ name: 'client', commonName: 'client', purpose: 'client', keyType: 'rsa' }],
  })
  const [certificate, key] = ['client.crt', 'client.key'].map((name) =>
    readFileSync(join(folder, name), 'utf8'),
  )
  const [pem = ''] =
    /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----\n/.exec(certificate ?? '') ?? []
  const file = join(cloud.folder, 'client.pem')
  writeFileSync(file, `${key}${pem}`, { mode: 0o600 })
  const more = {
    'root_key_azure.client_secret_file': undefined,
    'root_key_azure.client_certificate_file': file,
  }
  forms.length = 0
  await create(more).wrap(rootKey, context)
  const form = forms[0] ?? assert.fail()
  assert.equal(form.get('client_assertion_type'), 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer')
  const [header = '', claims = '', signature = ''] = form.get('client_assertion')?.split('.') ?? []
  const x509 = new X509Certificate(pem)
  assert.deepEqual(JSON.parse(Buffer.from(header, 'base64url').toString()), {
    alg: 'PS256',
    typ: 'JWT',
    'x5t#S256': createHash('sha256').update(x509.raw).digest('base64url'),
  })
  const { aud, iss, sub, nbf, exp, jti } = JSON.parse(Buffer.from(claims, 'base64url').toString())
  assert.deepEqual(
    [aud, iss, sub, exp - nbf],
    [`${cloud.url}/${tenant}/oauth2/v2.0/token`, clientId, clientId, 600],
  )
  assert.match(jti, /^[0-9a-f-]{36}$/)
  const pss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }
  const signed = Buffer.from(`${header}.${claims}`)
  assert.ok(
    verifySignature('sha256', signed, { key: x509.publicKey, ...pss }, Buffer.from(signature, 'base64url')),
  )
  const env = { AZURE_CLIENT_CERTIFICATE_PATH: file, AZURE_TENANT_ID: tenant, AZURE_CLIENT_ID: clientId }
  const unset = { 'root_key_azure.tenant_id': undefined, 'root_key_azure.client_id': undefined }
  create({ ...unset, 'root_key_azure.client_secret_file': undefined }, env)
  writeFileSync(file, `${privateKey.export({ type: 'pkcs8', format: 'pem' })}${pem}`)
  assert.throws(() => create(more), /does not contain the certificate of its private key, in PEM/)
  writeFileSync(file, pem)
  assert.throws(() => create(more), /client\.pem contains no private RSA key in PEM/)
})

test('the token of a workload is sent as assertion, read at each use', async () => {
  const file = join(cloud.folder, 'federated')
  writeFileSync(file, 'first\n', { mode: 0o644 })
  const env = { AZURE_FEDERATED_TOKEN_FILE: file, AZURE_AUTHORITY_HOST: `${cloud.url}/` }
  const more = { 'root_key_azure.client_secret_file': undefined, 'root_key_azure.authority': undefined }
  forms.length = 0
  await create(more, env).wrap(rootKey, context)
  writeFileSync(file, 'second\n')
  await create(more, env).wrap(rootKey, context)
  assert.deepEqual(
    forms.map((form) => form.get('client_assertion')),
    ['first', 'second'],
  )
})

test('a managed identity is used only by its setting: of a machine, or of a service of Azure', async () => {
  const none = { 'root_key_azure.client_secret_file': undefined }
  assert.throws(
    () => create(none),
    /finds no credentials: it requires root_key_azure\.client_secret_file or AZURE_CLIENT_SECRET; .*AZURE_FEDERATED_TOKEN_FILE; or root_key_azure\.credentials = "managed-identity"/,
  )
  assert.throws(
    () => create({ ...none, 'root_key_azure.credentials': 'workload-identity' }),
    /root_key_azure\.credentials workload-identity requires AZURE_FEDERATED_TOKEN_FILE/,
  )
  assert.throws(
    () => create({ 'root_key_azure.tenant_id': undefined }),
    /requires root_key_azure\.tenant_id and root_key_azure\.client_id/,
  )
  const env = { IDENTITY_ENDPOINT: `${cloud.plainUrl}/msi/token`, IDENTITY_HEADER: 'header-secret' }
  const provider = () => create({ ...none, 'root_key_azure.credentials': 'managed-identity' }, env)
  const serve: Fault = ({ path, headers }) => {
    if (!path.startsWith('/msi/token?')) return undefined
    assert.equal(headers['x-identity-header'], 'header-secret')
    const query = new URLSearchParams(path.slice(path.indexOf('?')))
    assert.deepEqual(Object.fromEntries(query), {
      'api-version': '2019-08-01',
      resource: 'https://127.0.0.1',
      client_id: clientId,
    })
    const expires_on = String(Math.floor(Date.now() / 1000) + 3600)
    return {
      status: 200,
      body: { access_token: state.accepted, expires_on, resource: 'x', token_type: 'Bearer' },
    }
  }
  await cloud.withFault(serve, () => provider().wrap(rootKey, context))
  await cloud.withFault(
    ({ path }) =>
      path.startsWith('/msi')
        ? { status: 400, body: { error: 'invalid_request', error_description: 'Identity not found' } }
        : undefined,
    () =>
      refuses(
        provider().wrap(rootKey, context),
        /refused the token request with 400 invalid_request Identity not found; assign an identity to this machine/,
      ),
  )
})

test('both services open their databases again; a throttled server is tried again, a silent one given up', () =>
  testDatabases(cloud, create, failAzure(429, 'Throttled')))

test('the source is created of the settings, the home and the environment of a service', async () => {
  const config = {
    ...settings,
    'root_key_azure.client_secret_file': undefined,
    outbound_ca_file: 'ca.crt',
  } as unknown as RuntimeConfig & Readonly<Record<string, unknown>>
  const launch = {
    config,
    home: cloud.folder,
    env: { AZURE_CLIENT_SECRET: 'secret', AZURE_FEDERATED_TOKEN_FILE: '', AZURE_TENANT_ID: '' },
  }
  const provider = await createRootKeyProvider('azure-key-vault', launch)
  assert.deepEqual(await provider.unwrap(await create().wrap(rootKey, context), context), rootKey)
})
