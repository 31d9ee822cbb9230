import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { RuntimeConfig } from '@warder/runtime/launch'
import type { GoogleConfig } from '../cloud-settings.ts'
import { createRootKeyProvider } from '../providers.ts'
import { type Fault, isUnavailable, refuses, testDatabases, toContext } from '../testing/cloud-server.ts'
import { failGoogle, startGoogleCloud } from '../testing/google-cloud.ts'
import { crc32c, createGoogleKmsProvider } from './kms.ts'

const { cloud, key, scope, file, account, state, serveKms } = await startGoogleCloud()
after(() => cloud.close())

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
const write = (path: string, value: unknown): void =>
  writeFileSync(path, JSON.stringify(value), { mode: 0o600 })

const settings: GoogleConfig = {
  outbound_ca_file: cloud.caFile,
  proxy: undefined,
  'root_key_google.key': key,
  'root_key_google.credentials': 'file',
  'root_key_google.credentials_file': file,
  'root_key_google.endpoint': cloud.url,
  'root_key_google.ca_file': undefined,
}
const create = (more: Partial<GoogleConfig> = {}, env: NodeJS.ProcessEnv = {}, now = Date.now) =>
  createGoogleKmsProvider({ ...settings, ...more }, (path) => path, env, {
    now,
    monotonic: () => performance.now(),
  })

const context = toContext('kms')
const rootKey = randomBytes(32)

test('CRC32C has the values of RFC 3720 B.4', () => {
  const of = (bytes: Uint8Array): string => crc32c(bytes).toString(16).padStart(8, '0')
  assert.equal(of(Buffer.alloc(32)), '8a9136aa')
  assert.equal(of(Buffer.alloc(32, 0xff)), '62a8ab43')
  assert.equal(of(Uint8Array.from({ length: 32 }, (_, index) => index)), '46dd794e')
  assert.equal(of(Buffer.from('123456789')), 'e3069283')
})

test('a root key is wrapped and unwrapped with a token of the service account; a new version of the key changes nothing', async () => {
  const provider = create()
  assert.deepEqual([provider.source, provider.description], ['google-kms', `${cloud.url} ${key}`])
  const before = state.tokens
  const wrapped = await provider.wrap(rootKey, context)
  assert.ok(Buffer.from(wrapped).includes(`${key}/cryptoKeyVersions/1`))
  state.version = 2
  assert.deepEqual(await provider.unwrap(wrapped, context), rootKey)
  assert.equal(state.tokens, before + 1)
  const again = await provider.wrap(rootKey, context)
  assert.ok(Buffer.from(again).includes(`${key}/cryptoKeyVersions/2`))
  await refuses(
    provider.unwrap(wrapped, toContext('auth')),
    /refused decrypt with 400 INVALID_ARGUMENT: Decryption failed\S* the ciphertext is invalid\.; the wrapped root key was changed, or belongs to another key or database \(the root key was wrapped by projects\/\S+\/1\)/,
  )
})

test('the source is created of the settings, the home and the environment of a service', async () => {
  const config = {
    ...settings,
    'root_key_google.credentials_file': undefined,
    outbound_ca_file: 'ca.crt',
  } as unknown as RuntimeConfig & Readonly<Record<string, unknown>>
  const launch = { config, home: cloud.folder, env: { GOOGLE_APPLICATION_CREDENTIALS: file } }
  const provider = await createRootKeyProvider('google-kms', launch)
  assert.deepEqual(await provider.unwrap(await create().wrap(rootKey, context), context), rootKey)
})

test('bytes that were changed on the way are noticed by their checksum, and asked for again', async () => {
  const provider = create()
  const wrapped = await provider.wrap(rootKey, context)
  const changing =
    (change: (body: Record<string, unknown>) => void): Fault =>
    (request) => {
      if (request.path === '/token') return undefined
      const reply = serveKms(request)
      assert.ok(reply !== 'hang')
      const body = { ...(reply.body as Record<string, unknown>) }
      change(body)
      return { ...reply, body }
    }
  for (const change of [
    (body: Record<string, unknown>) => delete body.verifiedPlaintextCrc32c,
    (body: Record<string, unknown>) => (body.verifiedAdditionalAuthenticatedDataCrc32c = false),
    (body: Record<string, unknown>) => (body.verifiedPlaintextCrc32c = 'true'),
  ])
    await cloud.withFault(changing(change), () =>
      isUnavailable(
        provider.wrap(rootKey, context),
        /did not verify the checksums of the request \(CRC32C\)/,
      ),
    )
  for (const value of [undefined, '0', -1])
    await cloud.withFault(
      changing((body) => (body.ciphertextCrc32c = value)),
      () =>
        isUnavailable(
          provider.wrap(rootKey, context),
          /the ciphertext of \S+ was changed on the way \(CRC32C\)/,
        ),
    )
  await cloud.withFault(
    changing((body) => (body.plaintext = base64(randomBytes(32)))),
    () => isUnavailable(provider.unwrap(wrapped, context), /the plaintext of \S+ was changed on the way/),
  )
  for (const [name, shown] of [
    [
      `${key}2/cryptoKeyVersions/1`,
      /used the key projects\/\S+root2\/cryptoKeyVersions\/1, which is not root_key_google\.key/,
    ],
    [`${key}/cryptoKeyVersions/1/x`, /used the key/],
    [undefined, /used no key, which is not/],
  ] as const)
    await cloud.withFault(
      changing((body) => (body.name = name)),
      () => refuses(provider.wrap(rootKey, context), shown),
    )
})

test('each refusal of Cloud KMS is a sentence with what to do; throttling and failures are temporary', async () => {
  const provider = create()
  const wrapped = await provider.wrap(rootKey, context)
  const reply =
    (status: number, code: string): Fault =>
    ({ path }) =>
      path === '/token' ? undefined : failGoogle(status, code, 'because.')
  for (const [status, code, message] of [
    [
      403,
      'PERMISSION_DENIED',
      /403 PERMISSION_DENIED: because\.; grant roles\/cloudkms\.cryptoKeyEncrypterDecrypter on projects\/\S+ to warder@warder-test\.iam/,
    ],
    [404, 'NOT_FOUND', /there is no key projects\/\S+: check root_key_google\.key/],
    [400, 'FAILED_PRECONDITION', /enable the version of the key \(gcloud kms keys versions enable\)/],
    [400, 'INVALID_ARGUMENT', /the wrapped root key was changed/],
    [401, 'UNAUTHENTICATED', /the credentials of warder@warder-test\S+ are not accepted/],
  ] as const)
    await cloud.withFault(reply(status, code), () => refuses(provider.unwrap(wrapped, context), message))
  for (const [status, code] of [
    [429, 'RESOURCE_EXHAUSTED'],
    [500, 'INTERNAL'],
    [503, 'UNAVAILABLE'],
  ] as const)
    await cloud.withFault(reply(status, code), () =>
      isUnavailable(
        provider.unwrap(wrapped, context),
        new RegExp(`replied to decrypt with ${status} ${code}: because`),
      ),
    )
  await cloud.withFault(
    ({ path }) => (path === '/token' ? undefined : { status: 404, body: '<html>' }),
    () =>
      refuses(
        provider.wrap(rootKey, context),
        /refused encrypt with 404; is root_key_google\.endpoint one of Cloud KMS\?/,
      ),
  )
  const other = create({ 'root_key_google.key': key.replace('root', 'other') })
  await refuses(
    other.unwrap(wrapped, context),
    /root_key_google\.key is \S+other, but \S+root\/cryptoKeyVersions\/\d wrapped the root key/,
  )
  for (const bytes of [Buffer.alloc(2), Buffer.of(9, 0, 1, 97, 1)])
    await refuses(provider.unwrap(bytes, context), /was not made by root_key_source google-kms/)
})

test('a token that expires or is refused in the middle is replaced once; a wrong key of the account is named', async () => {
  let now = Date.now()
  const provider = create({}, {}, () => now)
  const wrapped = await provider.wrap(rootKey, context)
  const before = state.tokens
  state.accepted = 'token-2'
  assert.deepEqual(await provider.unwrap(wrapped, context), rootKey)
  assert.equal(state.tokens, before + 1)
  now += 3_299_000
  await provider.unwrap(wrapped, context)
  assert.equal(state.tokens, before + 2)
  const other = join(cloud.folder, 'other.json')
  const { privateKey: wrong } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  write(other, { ...account, private_key: wrong.export({ type: 'pkcs8', format: 'pem' }) })
  await refuses(
    create({ 'root_key_google.credentials_file': other }).wrap(rootKey, context),
    /\/token refused the token request with 400 invalid_grant Invalid JWT Signature\.; check that the key key-1 of warder@\S+ exists and is enabled/,
  )
  await cloud.withFault(
    ({ path }) =>
      path === '/token' ? { status: 200, body: { access_token: 'two words', expires_in: 1 } } : undefined,
    () => refuses(create().wrap(rootKey, context), /replied without an access token and its lifetime/),
  )
  await cloud.withFault(
    ({ path }) => (path === '/token' ? { status: 503, body: '' } : undefined),
    () => isUnavailable(create().wrap(rootKey, context), /\/token replied with 503/),
  )
})

test('a credentials file that cannot be used is refused by name', () => {
  const path = join(cloud.folder, 'bad.json')
  const attempt = (value: unknown, message: RegExp): void => {
    write(path, value)
    assert.throws(() => create({ 'root_key_google.credentials_file': path }), message)
  }
  attempt([], /is not a JSON object/)
  attempt(
    { type: 'authorized_user', refresh_token: 'x' },
    /has the type authorized_user, which is not supported: it must be service_account or external_account/,
  )
  attempt({ ...account, universe_domain: 'example.com' }, /universe_domain example\.com is not supported/)
  attempt({ ...account, client_email: 7 }, /has no valid client_email/)
  attempt({ ...account, private_key: 'SECRET' }, /contains no private RSA key in PEM$/)
  const external = {
    type: 'external_account',
    audience: 'a',
    token_url: 'https://a.example',
    subject_token_type: 't',
  }
  attempt(
    { ...external, credential_source: { url: 'http://169.254.169.254' } },
    /credential_source must have a file, url is not supported/,
  )
  attempt(
    { ...external, credential_source: { file: path, environment_id: 'aws1' } },
    /environment_id is not supported/,
  )
  attempt(
    { ...external, credential_source: { file: path, format: { type: 'json' } } },
    /format of credential_source must be text, or json with its field/,
  )
  const format = { type: 'json', subject_token_field_name: 'jwt' }
  attempt(
    { ...external, credential_source: { file: `${path}.absent`, format } },
    /credential_source of \S+ \S+: cannot read/,
  )
  attempt({ ...external, credential_source: { file: path, format } }, /has no member jwt with a token/)
  attempt(
    { ...external, credential_source: { file: path }, quota_project_id: 'x' },
    /quota_project_id is not supported/,
  )
  chmodSync(file, 0o644)
  assert.throws(() => create(), /root_key_google\.credentials_file: \S+ can be read by others/)
  chmodSync(file, 0o600)
  assert.throws(
    () => create({ 'root_key_google.credentials_file': undefined }),
    /requires root_key_google\.credentials_file, GOOGLE_APPLICATION_CREDENTIALS, or root_key_google\.credentials = "metadata-server"/,
  )
  create({ 'root_key_google.credentials_file': undefined }, { GOOGLE_APPLICATION_CREDENTIALS: file })
  assert.throws(() => create({ 'root_key_google.key': undefined }), /requires root_key_google\.key/)
})

test('workload identity federation exchanges the token of a file, and impersonates a service account', async () => {
  const [path, subject] = [join(cloud.folder, 'external.json'), join(cloud.folder, 'subject')]
  const audience = '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/k'
  const external = {
    type: 'external_account',
    audience,
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    token_url: `${cloud.url}/sts`,
    credential_source: { file: subject, format: { type: 'json', subject_token_field_name: 'jwt' } },
  }
  const provider = () => create({ 'root_key_google.credentials_file': path })
  const exchanges: string[] = []
  const serve: Fault = ({ path: asked, headers, body }) => {
    if (asked === '/sts') {
      const form = new URLSearchParams(body.toString())
      assert.deepEqual(
        ['grant_type', 'audience', 'subject_token_type', 'requested_token_type'].map((name) =>
          form.get(name),
        ),
        [
          'urn:ietf:params:oauth:grant-type:token-exchange',
          audience,
          external.subject_token_type,
          'urn:ietf:params:oauth:token-type:access_token',
        ],
      )
      exchanges.push(`${form.get('subject_token')} ${form.get('scope')}`)
      return { status: 200, body: { access_token: state.accepted, expires_in: 3600, issued_token_type: 'x' } }
    }
    if (!asked.startsWith('/v1/projects/-/')) return undefined
    assert.equal(headers.authorization, `Bearer ${state.accepted}`)
    assert.deepEqual(JSON.parse(body.toString()), { scope: [scope], lifetime: '3600s' })
    state.accepted = 'impersonated'
    return {
      status: 200,
      body: { accessToken: state.accepted, expireTime: new Date(Date.now() + 3_600_000).toISOString() },
    }
  }
  writeFileSync(subject, '{"jwt":"subject-1"}')
  // It contains no secret, so it may be in a ConfigMap.
  writeFileSync(path, JSON.stringify(external), { mode: 0o644 })
  await cloud.withFault(serve, () => provider().wrap(rootKey, context))
  writeFileSync(subject, 'subject-2\n')
  const url = `${cloud.url}/v1/projects/-/serviceAccounts/warder@warder-test.iam.gserviceaccount.com:generateAccessToken`
  write(path, { ...external, credential_source: { file: subject }, service_account_impersonation_url: url })
  await cloud.withFault(serve, () => provider().wrap(rootKey, context))
  assert.deepEqual(exchanges, [
    `subject-1 ${scope}`,
    'subject-2 https://www.googleapis.com/auth/cloud-platform',
  ])
  await cloud.withFault(
    ({ path: asked }) =>
      asked === '/sts'
        ? {
            status: 400,
            body: {
              error: 'invalid_grant',
              error_description: `The audience does not match ${'x'.repeat(500)}`,
            },
          }
        : undefined,
    () =>
      refuses(
        provider().wrap(rootKey, context),
        /\/sts refused the token request with 400 invalid_grant The audience does not match \.\.\.; the workload identity pool of \/\/iam\S+ must admit/,
      ),
  )
  await cloud.withFault(
    (request) =>
      request.path.startsWith('/v1/projects/-/')
        ? failGoogle(403, 'PERMISSION_DENIED', 'no')
        : serve(request),
    () =>
      refuses(
        provider().wrap(rootKey, context),
        /refused to impersonate with 403 no; grant roles\/iam\.workloadIdentityUser/,
      ),
  )
})

test('the metadata server gives a token, if the setting says so', async () => {
  const env = { GCE_METADATA_HOST: new URL(cloud.plainUrl).host }
  const provider = create({ 'root_key_google.credentials': 'metadata-server' }, env)
  const flavored = { 'metadata-flavor': 'Google' }
  await cloud.withFault(
    ({ path, headers }) => {
      if (!path.startsWith('/computeMetadata/')) return undefined
      assert.equal(headers['metadata-flavor'], 'Google')
      assert.equal(
        path,
        `/computeMetadata/v1/instance/service-accounts/default/token?scopes=${encodeURIComponent(scope)}`,
      )
      return {
        status: 200,
        headers: flavored,
        body: { access_token: state.accepted, expires_in: 3599, token_type: 'Bearer' },
      }
    },
    () => provider.wrap(rootKey, context),
  )
  const fresh = () => create({ 'root_key_google.credentials': 'metadata-server' }, env).wrap(rootKey, context)
  await cloud.withFault(
    () => ({ status: 200, body: { access_token: state.accepted, expires_in: 1 } }),
    () => refuses(fresh(), /is not the metadata server of Google/),
  )
  await cloud.withFault(
    () => ({ status: 404, headers: flavored, body: '' }),
    () =>
      refuses(fresh(), /refused the token request with 404; attach a service account to the instance or pod/),
  )
})

test('both services open their databases again; a throttled server is tried again, a silent one given up', () =>
  testDatabases(cloud, create, failGoogle(429, 'RESOURCE_EXHAUSTED', 'Quota exceeded')))
