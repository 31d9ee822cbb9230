import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { connect } from 'node:tls'
import { grant } from '@warder/kms/testing'
import { requestMetadata, type SigningOptions, signedHeaders, startXks, type Xks } from './fixtures/xks.ts'

const body = JSON.stringify({ requestMetadata: requestMetadata('DescribeKey') })

/** Sends bytes as they are. @returns status and `errorName` */
async function raw(xks: Xks, target: string, headers: readonly (readonly [string, string])[], text = body) {
  const socket = connect({ port: xks.kms.port, host: '127.0.0.1', servername: 'localhost', ca: xks.kms.ca })
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.write(
    `POST ${target} HTTP/1.1\r\n${lines}content-length: ${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n${text}`,
  )
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  await once(socket, 'close')
  const reply = Buffer.concat(chunks).toString()
  const json = reply.slice(reply.indexOf('\r\n\r\n') + 4)
  return [Number(reply.slice(9, 12)), json.startsWith('{') ? JSON.parse(json).errorName : json]
}

const ok = [200, undefined]
const unauthenticated = [401, 'AuthenticationFailedException']

test('headers that are missing, doubled, changed or unsigned do not authenticate, and their order does not matter', async () => {
  await using xks = await startXks()
  const path = `/aws/kms/xks/v1/keys/${xks.kid}/metadata`
  const signed = Object.entries(
    await signedHeaders(path, body, { credential: xks.credential, headers: { 'x-more': 'a  b' } }),
  )
  const without = (name: string) => signed.filter(([known]) => known !== name)
  const withValue = (name: string, value: string) =>
    signed.map(([known, old]) => [known, known === name ? value : old] as const)
  const readHeader = (name: string): string => signed.find(([known]) => known === name)?.[1] ?? ''
  assert.deepEqual(await raw(xks, path, signed), ok)
  assert.deepEqual(await raw(xks, path, signed.toReversed()), ok)
  assert.deepEqual(
    await raw(
      xks,
      path,
      signed.map(([name, value]) => [name.toUpperCase(), value]),
    ),
    ok,
  )
  assert.deepEqual(await raw(xks, path, withValue('x-more', ' a b ')), ok, 'blanks are not signed')
  assert.deepEqual(await raw(xks, path, [...signed, ['x-unsigned', 'anything']]), ok)
  const authorization = readHeader('authorization')
  const wrong: (readonly (readonly [string, string])[])[] = [
    without('authorization'),
    without('x-amz-date'),
    without('x-more'),
    withValue('x-more', 'b'),
    withValue('host', 'another.example'),
    withValue(
      'x-amz-date',
      readHeader('x-amz-date').replace(/\d\dZ$/, (s) => (s === '00Z' ? '01Z' : '00Z')),
    ),
    [...signed, ['x-amz-date', readHeader('x-amz-date')]],
    [...signed, ['x-more', 'a b']],
    withValue('authorization', authorization.replace('host;', '')),
    withValue('authorization', authorization.replace('content-type;host', 'host;content-type')),
    withValue('authorization', authorization.replace(';x-more', '')),
    withValue('authorization', authorization.replace('x-amz-date;', '')),
    withValue('authorization', authorization.replace(/Signature=.*/, `Signature=${'0'.repeat(64)}`)),
    withValue('authorization', authorization.replace(/Signature=.*/, 'Signature=')),
    withValue('authorization', `Bearer ${xks.kms.token({ sub: 'alice' })}`),
    withValue('authorization', 'Basic YTpi'),
    [...signed, ['x-amz-content-sha256', 'UNSIGNED-PAYLOAD']],
    [...signed, ['x-amz-content-sha256', 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD']],
  ]
  for (const headers of wrong)
    assert.deepEqual(await raw(xks, path, headers), unauthenticated, JSON.stringify(headers))
  // Of these the service keeps one: two readers could each take another.
  for (const name of ['host', 'authorization', 'content-type'])
    assert.deepEqual(await raw(xks, path, [...signed, [name, readHeader(name)]]), [
      400,
      'ValidationException',
    ])
  const cookies = [...without('authorization'), ['cookie', 'auth_session=x']] as const
  assert.deepEqual(await raw(xks, path, cookies), unauthenticated)
})

test('a header that is folded, and a body whose end two readers could see at two places, are not read', async () => {
  await using xks = await startXks()
  const path = `/aws/kms/xks/v1/keys/${xks.kid}/metadata`
  const signed = Object.entries(
    await signedHeaders(path, body, { credential: xks.credential, headers: { 'x-more': 'a b' } }),
  )
  const withValue = (name: string, value: (old: string) => string) =>
    signed.map(([known, old]) => [known, known === name ? value(old) : old] as const)
  for (const headers of [
    withValue('x-more', () => 'a\r\n b'),
    withValue('x-more', () => 'a\n b'),
    withValue('authorization', (old) => old.replace(', ', ',\r\n ')),
    withValue('x-amz-date', (old) => `\r\n ${old}`),
    [...signed, ['transfer-encoding', 'chunked']],
    [...signed, ['content-length', '1']],
    [...signed, ['content-length', String(body.length + 1)]],
  ] as const) {
    const [status, errorName] = await raw(xks, path, headers as readonly (readonly [string, string])[])
    assert.ok(
      status === 400 || (status === 401 && errorName === 'AuthenticationFailedException'),
      `${JSON.stringify(headers)}: ${status} ${errorName}`,
    )
  }
})

test('a member that is there twice is refused', async () => {
  await using xks = await startXks()
  const mallory = body.replaceAll('Alice', 'Mallory')
  const doubled = `${body.slice(0, -1)},${mallory.slice(1)}`
  const { status, json } = await xks.send(`keys/${xks.kid}/metadata`, doubled)
  assert.deepEqual([status, json.errorName], [400, 'ValidationException'])
})

test('a request whose body is still under way when the store is stopped is refused', async () => {
  await using xks = await startXks()
  const path = `/aws/kms/xks/v1/keys/${xks.kid}/metadata`
  const headers = Object.entries(await signedHeaders(path, body, { credential: xks.credential }))
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  const socket = connect({ port: xks.kms.port, host: '127.0.0.1', servername: 'localhost', ca: xks.kms.ca })
  const half = Math.floor(body.length / 2)
  socket.write(`POST ${path} HTTP/1.1\r\n${lines}content-length: ${body.length}\r\nconnection: close\r\n\r\n`)
  await new Promise<void>((resolve, reject) => {
    socket.write(body.slice(0, half), (error) => (error ? reject(error) : resolve()))
  })
  assert.equal((await xks.kms.user('admin').post('/v1/external-stores/aws/stop', {})).status, 200)
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.write(body.slice(half))
  await once(socket, 'close')
  assert.match(Buffer.concat(chunks).toString(), /^HTTP\/1\.1 400 .*InvalidStateException/s)
})

test('a body that was changed after signing, and requests that were signed for others, do not authenticate', async () => {
  await using xks = await startXks({
    config: { 'aws_xks_config.aws_xks_uri_path_prefixes': ['/aws', '/aws/payments'] },
  })
  const { kms, credential } = xks
  const admin = kms.user('admin')
  const keys = '/v1/external-stores/aws/access-keys'
  const payments = (await admin.post(keys, { region: 'eu-west-1', uri_prefix: '/aws/payments' })).json
  await grant(xks.kms.user('alice'), xks.kid, 'aws:/aws/payments:*', 'getattributes')
  const path = `/aws/kms/xks/v1/keys/${xks.kid}/metadata`
  const send = async (
    options: Partial<SigningOptions> = {},
    target = path,
    text = body,
    signedPath = target,
  ) =>
    raw(xks, target, Object.entries(await signedHeaders(signedPath, body, { credential, ...options })), text)
  assert.deepEqual(await send(), ok)
  assert.deepEqual(await send({}, path, body.replace('Alice', 'Mallo')), unauthenticated)
  assert.deepEqual(await send({}, path, `${body} `), unauthenticated)
  const id = `${credential.id.slice(0, -1)}${credential.id.endsWith('A') ? 'B' : 'A'}`
  const others: Partial<SigningOptions>[] = [
    { region: 'eu-west-2' },
    { region: 'us-east-1' },
    { service: 'kms' },
    { service: 's3' },
    { method: 'GET' },
    { credential: { ...credential, id } },
    { credential: { ...credential, id: 'nobody' } },
    { credential: { ...credential, id: credential.id.toLowerCase() } },
    { credential: { ...credential, secret: `${credential.secret}x` } },
    { credential: { ...credential, secret: '' } },
    { credential: { ...credential, secret: payments.secret } },
    { credential: payments },
  ]
  for (const options of others)
    assert.deepEqual(await send(options), unauthenticated, JSON.stringify(options))
  const theirs = path.replace('/aws/', '/aws/payments/')
  assert.deepEqual(await send({ credential: payments }, theirs), ok)
  assert.deepEqual(await send({}, theirs), unauthenticated)
  assert.deepEqual(await send({}, path, body, theirs), unauthenticated)
  assert.deepEqual(await send({}, path.replace('metadata', 'encrypt'), body, path), unauthenticated)
})

test('a request is too old after 5 minutes, and one from the future too early, by the clock of the service', async () => {
  let now = Date.UTC(2026, 4, 4, 23, 58, 0)
  await using xks = await startXks({ clock: { now: () => now, monotonic: () => performance.now() } })
  const path = `/aws/kms/xks/v1/keys/${xks.kid}/metadata`
  const headers = Object.entries(
    await signedHeaders(path, body, { credential: xks.credential, at: new Date(now) }),
  )
  const after = (ms: number) => {
    now = Date.UTC(2026, 4, 4, 23, 58, 0) + ms
    return raw(xks, path, headers)
  }
  // Past midnight, too: the date of its scope is the day on which it was signed.
  for (const ms of [0, 300_000, -300_000]) assert.deepEqual(await after(ms), ok, String(ms))
  for (const ms of [300_001, -300_001, 86_400_000, -86_400_000])
    assert.deepEqual(await after(ms), unauthenticated, String(ms))
})

test('no path is signed as one and routed as another', async () => {
  await using xks = await startXks()
  const path = `/aws/kms/xks/v1/keys/${xks.kid}/metadata`
  const headers = Object.entries(await signedHeaders(path, body, { credential: xks.credential }))
  assert.deepEqual(await raw(xks, path, headers), ok)
  const tricks = [
    path.replace('metadata', '%6Detadata'),
    path.replace('/keys', '/%6beys'),
    path.replace('/keys', '//keys'),
    path.replace('/keys', '/./keys'),
    path.replace('/keys', '/x/../keys'),
    path.replace(xks.kid, `${xks.kid}%2F..%2F${xks.kid}`),
    path.replace(xks.kid, `%${xks.kid.charCodeAt(0).toString(16)}${xks.kid.slice(1)}`),
    path.replace(xks.kid, `${xks.kid}%00`),
    `${path}/`,
    `${path}/.`,
    `${path};x`,
    `${path}?`.repeat(2),
    `${path}?a=b`,
    `${path}?X-Amz-Signature=x`,
    path.replace('metadata', 'METADATA'),
    `/aws/kms/xks/v1/keys/../keys/${xks.kid}/metadata`,
  ]
  for (const trick of tricks) {
    const [status, errorName] = await raw(xks, trick, headers)
    assert.ok(
      (status === 401 && errorName === 'AuthenticationFailedException') ||
        (status === 404 && errorName === 'InvalidUriPathException') ||
        (status === 400 && errorName === 'ValidationException'),
      `${trick}: ${status} ${errorName}`,
    )
  }
  // Signed as they are sent, too.
  for (const trick of [
    '/aws/kms/xks/v1/keys/%2e%2e/metadata',
    '/aws/kms/xks/v1/keys/../metadata',
    '/aws/kms/xks/v1/keys/./metadata',
    `${path}?a=b`,
  ]) {
    const own = Object.entries(await signedHeaders(trick, body, { credential: xks.credential }))
    const [status] = await raw(xks, trick, own)
    assert.ok([400, 401, 404].includes(Number(status)), trick)
  }
  // The absolute form names the host that is signed.
  const absolute = Object.entries(
    await signedHeaders(path, body, { credential: xks.credential, host: 'xks.example' }),
  )
  assert.deepEqual(await raw(xks, `https://xks.example${path}`, absolute), ok)
  assert.deepEqual(await raw(xks, `https://other.example${path}`, absolute), unauthenticated)
})

test('the API is off by default, and pages of any origin may read it without credentials of their visitor', async () => {
  await using off = await startXks({ config: { 'aws_xks_config.aws_xks_enable': false } })
  const { status } = await off.send('health', { requestMetadata: requestMetadata('x') })
  assert.equal(status, 404)
  await using xks = await startXks()
  const path = `/aws/kms/xks/v1/keys/${xks.kid}/metadata`
  const preflight = await xks.wire.call('OPTIONS', path, {
    headers: { origin: 'https://page.example', 'access-control-request-method': 'POST' },
  })
  assert.deepEqual(
    [
      preflight.status,
      preflight.headers['access-control-allow-origin'],
      preflight.headers['access-control-allow-credentials'],
    ],
    [204, '*', undefined],
  )
  const answer = await xks.send(`keys/${xks.kid}/metadata`, JSON.parse(body), {
    headers: { origin: 'https://page.example' },
  })
  assert.deepEqual([answer.status, answer.headers['access-control-allow-origin']], [200, '*'])
  const elsewhere = await xks.kms.user('alice').call('POST', '/v1/crypto/keys', {
    json: { kty: 'oct', alg: 'A256GCM' },
    headers: { origin: 'https://page.example' },
  })
  assert.equal(elsewhere.status, 403)
  assert.equal(elsewhere.headers['access-control-allow-origin'], undefined)
})
