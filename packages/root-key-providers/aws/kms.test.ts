import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { signAwsRequest } from '@warder/outbound/sigv4'
import type { AwsConfig } from '../cloud-settings.ts'
import {
  type AwsKmsRequest,
  awsKeyArn,
  awsKeyId,
  failAws,
  serveAwsKms,
  startAwsCloud,
} from '../testing/aws-cloud.ts'
import {
  type Fault,
  isUnavailable,
  refuses,
  type Scripted,
  testDatabases,
  toContext,
} from '../testing/cloud-server.ts'
import { createAwsKmsProvider } from './kms.ts'

const [keyId, arn] = [awsKeyId, awsKeyArn]
const multiRegion = 'arn:aws:kms:REGION:111122223333:key/mrk-0123456789abcdef0123456789abcdef'
const credentialReply = (token: string, expiresInMs: number, now = Date.now()) => ({
  Code: 'Success',
  AccessKeyId: 'ASIAEXAMPLE',
  SecretAccessKey: 'temporary',
  Token: token,
  Expiration: new Date(now + expiresInMs).toISOString(),
})

const cloud = await startAwsCloud()
after(() => cloud.close())

const settings: AwsConfig = {
  proxy: undefined,
  outbound_ca_file: cloud.caFile,
  'root_key_aws.key': arn,
  'root_key_aws.region': undefined,
  'root_key_aws.credentials': 'auto',
  'root_key_aws.credentials_file': undefined,
  'root_key_aws.endpoint': cloud.url,
  'root_key_aws.sts_endpoint': cloud.url,
  'root_key_aws.ca_file': undefined,
}
const accessKey = { AWS_ACCESS_KEY_ID: 'AKIAEXAMPLE', AWS_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI/K7MDENG' }

function create(
  more: Partial<AwsConfig> = {},
  env: NodeJS.ProcessEnv = accessKey,
  now: () => number = Date.now,
) {
  const config = { ...settings, ...more }
  const clock = { now, monotonic: () => performance.now() }
  return createAwsKmsProvider(config, (path) => path, { HOME: cloud.folder, ...env }, clock)
}

const context = toContext('kms')
const rootKey = randomBytes(32)

test('a root key is wrapped and unwrapped with a signed request, the key and its encryption context', async () => {
  const provider = create()
  assert.deepEqual([provider.source, provider.description], ['aws-kms', `${cloud.url} ${arn}`])
  cloud.received.length = 0
  const wrapped = await provider.wrap(rootKey, context)
  assert.ok(Buffer.from(wrapped).includes(arn) && wrapped.length < 16_384)
  assert.deepEqual(await provider.unwrap(wrapped, context), rootKey)
  const host = new URL(cloud.url).host
  for (const { method, path, headers, body } of cloud.received) {
    assert.deepEqual([method, path], ['POST', '/'])
    assert.deepEqual((JSON.parse(body.toString()) as AwsKmsRequest).EncryptionContext, {
      service: 'kms',
      table: 'root_key_source',
      salt: '0123456789abcdef0123456789abcdef',
    })
    assert.equal((JSON.parse(body.toString()) as AwsKmsRequest).KeyId, arn)
    const at = Date.parse(
      headers['x-amz-date']?.replace(/(....)(..)(..T..)(..)(..Z)/, '$1-$2-$3:$4:$5') ?? '',
    )
    const sent = {
      'content-type': headers['content-type'] ?? '',
      'x-amz-target': headers['x-amz-target'] ?? '',
    }
    const credential = { id: accessKey.AWS_ACCESS_KEY_ID, secret: accessKey.AWS_SECRET_ACCESS_KEY }
    const scope = { region: 'eu-central-1', service: 'kms' }
    const signed = signAwsRequest({ host, path, headers: sent, body }, credential, scope, at)
    assert.equal(headers.authorization, signed.authorization)
  }
  await refuses(
    provider.unwrap(wrapped, toContext('auth')),
    /refused Decrypt with InvalidCiphertextException; the wrapped root key was changed, or belongs to another key or database \(the root key was wrapped by arn:aws:kms/,
  )
})

test('the key may be an id or an alias; the region is that of the ARN, the settings or the environment', async () => {
  const alias = 'arn:aws:kms:eu-central-1:111122223333:alias/warder'
  for (const [key, region, env] of [
    [keyId, 'eu-central-1', {}],
    ['alias/warder', undefined, { AWS_REGION: 'eu-central-1' }],
    [alias, undefined, { AWS_REGION: 'us-east-1' }],
  ] as const) {
    const provider = create(
      { 'root_key_aws.key': key, 'root_key_aws.region': region },
      { ...accessKey, ...env },
    )
    assert.deepEqual(await provider.unwrap(await provider.wrap(rootKey, context), context), rootKey)
  }
  assert.throws(() => create({ 'root_key_aws.key': keyId }), /requires root_key_aws\.region/)
  assert.throws(() => create({ 'root_key_aws.key': undefined }), /requires root_key_aws\.key/)
  assert.throws(
    () => create({ 'root_key_aws.region': 'us-east-1' }),
    /root_key_aws\.region is us-east-1, but root_key_aws\.key is in eu-central-1/,
  )
})

test('a reply that names another key, or none, is refused', async () => {
  const provider = create()
  const wrapped = await provider.wrap(rootKey, context)
  const naming =
    (KeyId: unknown): Fault =>
    (request) => {
      const reply = serveAwsKms(request)
      return reply === 'hang' ? reply : { ...reply, body: { ...(reply.body as object), KeyId } }
    }
  for (const other of [
    arn.replace('1111', '9999'),
    arn.replace('eu-central-1', 'us-east-1'),
    arn.replace('111122223333', '111122223334'),
  ]) {
    const message = /used the key arn:aws:kms:\S+, which is not root_key_aws\.key/
    await cloud.withFault(naming(other), () => refuses(provider.wrap(rootKey, context), message))
    await cloud.withFault(naming(other), () => refuses(provider.unwrap(wrapped, context), message))
  }
  for (const none of [undefined, 7, keyId, 'arn:aws:kms:eu-central-1:111122223333:alias/warder'])
    await cloud.withFault(naming(none), () =>
      refuses(provider.wrap(rootKey, context), /replied without the ARN of its key: is it AWS KMS\?/),
    )
  // The alias now refers to another key.
  const aliased = create({ 'root_key_aws.key': 'arn:aws:kms:eu-central-1:111122223333:alias/warder' })
  await cloud.withFault(naming(arn.replace('5555', '6666')), () =>
    refuses(
      aliased.unwrap(wrapped, context),
      /decrypted with arn:\S+6666\S*, but arn:\S+ wrapped the root key/,
    ),
  )
})

test('the replica of a multi-Region key in another region opens what its primary wrapped', async () => {
  const [here, there] = ['eu-central-1', 'us-east-1'].map((region) => multiRegion.replace('REGION', region))
  const wrapped = await create({ 'root_key_aws.key': here }).wrap(rootKey, context)
  assert.deepEqual(await create({ 'root_key_aws.key': there }).unwrap(wrapped, context), rootKey)
})

test('each refusal of AWS KMS is a sentence with what to do', async () => {
  const provider = create()
  const wrapped = await provider.wrap(rootKey, context)
  for (const [code, message] of [
    [
      'AccessDeniedException',
      /AccessDeniedException: because\. ; permit kms:Encrypt and kms:Decrypt on arn:aws:kms\S+ to the principal of AWS_ACCESS_KEY_ID/,
    ],
    ['NotFoundException', /there is no key arn:\S+ in eu-central-1 for this account/],
    ['DisabledException', /enable the key: aws kms enable-key --key-id arn:\S+ --region eu-central-1/],
    ['KMSInvalidStateException', /aws kms cancel-key-deletion/],
    ['InvalidKeyUsageException', /must be a symmetric key for encryption/],
    ['IncorrectKeyException', /set root_key_aws\.key to the key that wrapped the root key/],
    ['InvalidCiphertextException', /the wrapped root key was changed/],
    [
      'ValidationException',
      /refused Decrypt with ValidationException: because\. +\(the root key was wrapped by/,
    ],
  ] as const)
    await cloud.withFault(
      () => failAws(code, 'because.\n'),
      () => refuses(provider.unwrap(wrapped, context), message),
    )
  await cloud.withFault(
    () => ({ status: 404, body: '<html>' }),
    () =>
      refuses(
        provider.wrap(rootKey, context),
        /refused Encrypt with 404; is root_key_aws\.endpoint one of AWS KMS\?/,
      ),
  )
})

test('a throttled, failing, silent or absent server is unavailable, not wrong', async () => {
  const provider = create()
  for (const [code, status] of [
    ['ThrottlingException', 400],
    ['LimitExceededException', 400],
    ['KMSInternalException', 500],
    ['DependencyTimeoutException', 503],
    ['KeyUnavailableException', 500],
  ] as const)
    await cloud.withFault(
      () => failAws(code, 'later', status),
      () =>
        isUnavailable(provider.wrap(rootKey, context), new RegExp(`replied to Encrypt with ${code}: later`)),
    )
  await cloud.withFault(
    () => ({ status: 502, body: '' }),
    () => isUnavailable(provider.wrap(rootKey, context), /replied to Encrypt with 502$/),
  )
  const absent = create({ 'root_key_aws.endpoint': 'https://127.0.0.1:9' })
  await isUnavailable(absent.wrap(rootKey, context), /127\.0\.0\.1:9: .*ECONNREFUSED/)
  const local = create({ 'root_key_aws.endpoint': 'https://169.254.169.254' })
  await refuses(
    local.wrap(rootKey, context),
    /cannot be used: .* link-local address or that of a metadata service/,
  )
})

test('a wrapped root key that is truncated, garbage or of another source is refused', async () => {
  const provider = create()
  const wrapped = await provider.wrap(rootKey, context)
  for (const bytes of [
    Buffer.alloc(0),
    Buffer.of(1),
    Buffer.of(1, 0, 0, 1),
    Buffer.of(2, 0, 1, 97, 1),
    Buffer.of(1, 0, 1, 10, 1),
    wrapped.subarray(0, 40),
  ])
    await refuses(
      provider.unwrap(bytes, context),
      /the wrapped root key was not made by root_key_source aws-kms, or by a later version/,
    )
  const changed = Buffer.from(wrapped)
  changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1
  for (const bytes of [changed, wrapped.subarray(0, -5)])
    await refuses(provider.unwrap(bytes, context), /InvalidCiphertextException/)
})

test('a reply that is no JSON, has a member twice, is too large or redirects is refused', async () => {
  const provider = create()
  const wrapped = await provider.wrap(rootKey, context)
  const unwrapped = `"Plaintext":"${rootKey.toString('base64')}"`
  for (const [reply, message] of [
    [{ status: 200, body: 'nonsense' }, /refused Decrypt with 200; is the endpoint one of AWS KMS\?/],
    [{ status: 200, body: `{"KeyId":"${arn}",${unwrapped},${unwrapped}}` }, /refused Decrypt with 200/],
    [{ status: 200, body: { KeyId: arn } }, /replied without a valid Plaintext/],
    [{ status: 200, body: { KeyId: arn, Plaintext: '*' } }, /replied without a valid Plaintext/],
    [{ status: 200, body: 'x'.repeat(70_000) }, /cannot be used: the peer sent more than 65536 bytes/],
    [{ status: 307, body: '', headers: { location: cloud.url } }, /cannot be used: .* redirects/],
  ] as const)
    await cloud.withFault(
      () => reply,
      () => refuses(provider.unwrap(wrapped, context), message),
    )
})

test('credentials that AWS refuses are read again once; its message, which may contain them, is not repeated', async () => {
  const file = join(cloud.folder, 'credentials')
  const write = (id: string): void =>
    writeFileSync(file, `[default]\naws_access_key_id = ${id}\naws_secret_access_key = s\n`, { mode: 0o600 })
  write('AKIAOLD')
  const provider = create({ 'root_key_aws.credentials_file': file }, {})
  await cloud.withFault(
    ({ headers }) => {
      if (headers.authorization?.includes('AKIANEW')) return undefined
      write('AKIANEW')
      return failAws('UnrecognizedClientException', 'The security token included in the request is invalid.')
    },
    () => provider.wrap(rootKey, context),
  )
  assert.equal(cloud.received.length, 2)
  await cloud.withFault(
    () =>
      failAws(
        'InvalidSignatureException',
        'The Canonical String should have been x-amz-security-token:SECRET',
      ),
    () =>
      assert.rejects(provider.wrap(rootKey, context), (error: Error) => {
        assert.match(
          error.message,
          /with InvalidSignatureException: the credentials of profile default of \S+credentials are wrong or have expired, or the clock/,
        )
        return !error.message.includes('SECRET')
      }),
  )
  assert.equal(cloud.received.length, 2)
})

test('the credentials file has its profile, is private, and names what is not supported', () => {
  const file = join(cloud.folder, 'profiles')
  const text = `
# comment
[default]
role_arn = arn:aws:iam::111122223333:role/x
source_profile = warder
[ warder ] ; comment
aws_access_key_id=AKIAEXAMPLE
aws_secret_access_key = a/b+c=
aws_session_token =  token
[bad]
aws_access_key_id = not an id
`
  writeFileSync(file, text, { mode: 0o600 })
  const config = { 'root_key_aws.credentials_file': file }
  create(config, { AWS_PROFILE: 'warder' })
  create({ 'root_key_aws.credentials': 'file' }, { AWS_PROFILE: 'warder', AWS_SHARED_CREDENTIALS_FILE: file })
  assert.throws(
    () => create(config, {}),
    /profile default of \S+ uses role_arn, which is not supported: name a profile with/,
  )
  assert.throws(
    () => create(config, { AWS_PROFILE: 'absent' }),
    /root_key_aws\.credentials_file: \S+ has no profile absent/,
  )
  assert.throws(
    () => create(config, { AWS_PROFILE: 'bad' }),
    /profile bad of \S+ contains no valid access key/,
  )
  chmodSync(file, 0o644)
  assert.throws(
    () => create(config, {}),
    /root_key_aws\.credentials_file: \S+ can be read by others \(mode 0644\)/,
  )
  assert.throws(
    () => create({}, { AWS_SHARED_CREDENTIALS_FILE: join(cloud.folder, 'absent') }),
    /AWS_SHARED_CREDENTIALS_FILE: cannot read/,
  )
})

test('without credentials the error lists where they could be, and an instance is asked only by its setting', () => {
  assert.throws(
    () => create({}, {}),
    /finds no credentials: it requires AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN; AWS_CONTAINER_CREDENTIALS_FULL_URI or \S+; root_key_aws\.credentials_file, AWS_SHARED_CREDENTIALS_FILE or ~\/\.aws\/credentials; or root_key_aws\.credentials = "instance-metadata"/,
  )
  assert.throws(() => create({}, { AWS_ACCESS_KEY_ID: 'AKIAEXAMPLE' }), /contains no valid access key/)
  assert.throws(
    () => create({ 'root_key_aws.credentials': 'container' }),
    /root_key_aws\.credentials container requires AWS_CONTAINER_CREDENTIALS_FULL_URI/,
  )
})

test('a web identity is exchanged at AWS STS, read again at each exchange, and its refusal says what to do', async () => {
  const file = join(cloud.folder, 'web-token')
  writeFileSync(file, 'first\n')
  const env = {
    AWS_WEB_IDENTITY_TOKEN_FILE: file,
    AWS_ROLE_ARN: 'arn:aws:iam::111122223333:role/warder',
    AWS_ROLE_SESSION_NAME: 'node-1',
  }
  let now = Date.now()
  const provider = create({}, env, () => now)
  const exchanged: (string | null)[] = []
  const serveSts: Fault = ({ headers, body }) => {
    if (headers['x-amz-target'] !== undefined) {
      assert.equal(headers['x-amz-security-token'], `token-${exchanged.length}`)
      return undefined
    }
    const form = new URLSearchParams(body.toString())
    assert.deepEqual(
      ['Action', 'Version', 'RoleArn', 'RoleSessionName'].map((name) => form.get(name)),
      ['AssumeRoleWithWebIdentity', '2011-06-15', env.AWS_ROLE_ARN, 'node-1'],
    )
    exchanged.push(form.get('WebIdentityToken'))
    const { AccessKeyId, SecretAccessKey, Token, Expiration } = credentialReply(
      `token-${exchanged.length}`,
      3_600_000,
      now,
    )
    const body_ = `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult>
      <Credentials><AccessKeyId>${AccessKeyId}</AccessKeyId><SecretAccessKey>${SecretAccessKey}</SecretAccessKey>
      <SessionToken>${Token}</SessionToken><Expiration>${Expiration}</Expiration></Credentials>
      </AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`
    return { status: 200, body: body_, headers: { 'content-type': 'text/xml' } }
  }
  await cloud.withFault(serveSts, async () => {
    const wrapped = await provider.wrap(rootKey, context)
    await provider.unwrap(wrapped, context)
    assert.deepEqual(exchanged, ['first'])
    writeFileSync(file, 'second\n')
    // Five minutes before the credential expires.
    now += 3_300_001
    await provider.unwrap(wrapped, context)
    assert.deepEqual(exchanged, ['first', 'second'])
  })
  const refusal = (code: string, status: number): Scripted => ({
    status,
    body: `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>No.</Message></Error></ErrorResponse>`,
  })
  const away = create({}, env)
  await cloud.withFault(
    () => refusal('InvalidIdentityToken', 400),
    () =>
      refuses(
        away.wrap(rootKey, context),
        /refused AssumeRoleWithWebIdentity with InvalidIdentityToken: No\.; the trust policy of arn:aws:iam::111122223333:role\/warder must admit/,
      ),
  )
  await cloud.withFault(
    () => refusal('IDPCommunicationError', 400),
    () => isUnavailable(away.wrap(rootKey, context), /AssumeRoleWithWebIdentity with IDPCommunicationError/),
  )
  await cloud.withFault(
    () => ({ status: 200, body: '<Credentials><AccessKeyId>A</AccessKeyId></Credentials>' }),
    () => refuses(away.wrap(rootKey, context), /contains no temporary access key with its expiration/),
  )
  assert.throws(() => create({}, { AWS_ROLE_ARN: env.AWS_ROLE_ARN }), /are both required/)
  writeFileSync(file, 'two\nlines')
  assert.throws(
    () => create({}, env),
    /AWS_WEB_IDENTITY_TOKEN_FILE: \S+ must contain exactly one line, the token/,
  )
})

test('a container gives credentials with its token, which are renewed before they expire and after a refusal', async () => {
  const file = join(cloud.folder, 'container-token')
  writeFileSync(file, 'pod-token\n')
  const env = {
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `${cloud.plainUrl}/v1/credentials`,
    AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file,
  }
  let given = 0
  let expired = 0
  const serveAgent: Fault = ({ method, path, headers }) => {
    if (path === '/v1/credentials') {
      assert.deepEqual([method, headers.authorization], ['GET', 'pod-token'])
      given += 1
      return { status: 200, body: { ...credentialReply(`token-${given}`, 3_600_000), Code: undefined } }
    }
    return headers['x-amz-security-token'] === `token-${expired}`
      ? failAws('ExpiredTokenException', 'The security token included in the request is expired')
      : undefined
  }
  const provider = create({}, env)
  await cloud.withFault(serveAgent, async () => {
    const wrapped = await provider.wrap(rootKey, context)
    expired = 1
    assert.deepEqual(await provider.unwrap(wrapped, context), rootKey)
    assert.equal(given, 2)
  })
  await cloud.withFault(
    () => ({ status: 403, body: { code: 'AccessDenied', message: 'no association' } }),
    () =>
      refuses(
        create({}, env).wrap(rootKey, context),
        /replied with 403 no association; it must offer the credentials of a role/,
      ),
  )
  for (const url of [
    'http://example.com/credentials',
    'http://10.0.0.1/',
    'http://[::ffff:169.254.169.254]/',
    'file:///etc/passwd',
    'nonsense',
  ])
    await refuses(
      create({}, { AWS_CONTAINER_CREDENTIALS_FULL_URI: url }).wrap(rootKey, context),
      /is not that of a metadata service: http:\/\/ and one of 169\.254\.169\.254/,
    )
})

test('the role of an instance is obtained by IMDSv2, if the setting says so', async () => {
  const env = { AWS_EC2_METADATA_SERVICE_ENDPOINT: `${cloud.plainUrl}/` }
  const provider = create({ 'root_key_aws.credentials': 'instance-metadata' }, env)
  const folder = '/latest/meta-data/iam/security-credentials/'
  const serveMetadata: Fault = ({ method, path, headers }) => {
    if (method === 'PUT' && path === '/latest/api/token') {
      assert.equal(headers['x-aws-ec2-metadata-token-ttl-seconds'], '60')
      return { status: 200, body: 'session' }
    }
    if (!path.startsWith(folder)) return undefined
    assert.equal(headers['x-aws-ec2-metadata-token'], 'session')
    return path === folder
      ? { status: 200, body: 'warder-role' }
      : { status: 200, body: credentialReply('instance-token', 3_600_000) }
  }
  await cloud.withFault(serveMetadata, () => provider.wrap(rootKey, context))
  assert.deepEqual(
    cloud.received.map(({ path }) => path),
    ['/latest/api/token', folder, `${folder}warder-role`, '/'],
  )
  const refused = create({ 'root_key_aws.credentials': 'instance-metadata' }, env)
  await cloud.withFault(
    ({ path }) => (path.startsWith('/latest/api') ? { status: 403, body: '' } : undefined),
    () => refuses(refused.wrap(rootKey, context), /gives no session token \(IMDSv2\), but 403/),
  )
})

test('both services open their databases again; a throttled server is tried again, a silent one given up', () =>
  testDatabases(cloud, create, failAws('ThrottlingException', 'Rate exceeded')))
