import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalRequest, signAwsRequest, signCanonicalRequest, signingKey } from '@warder/outbound/sigv4'
import { signedHeaders } from './fixtures/xks.ts'
import { amzDate, readSignatureHeader } from './sigv4.ts'

const scope = { date: '20150830', region: 'us-east-1', service: 'service' }
const secret = Buffer.from('wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY')

test('a signing key is that of the example of AWS', () => {
  const key = signingKey(secret, '20150830', 'us-east-1', 'iam')
  assert.equal(key.toString('hex'), 'c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9')
})

test('post-vanilla of the test suite of Signature Version 4 has its signature', () => {
  const at = '20150830T123600Z'
  const headers = { host: 'example.amazonaws.com', 'x-amz-date': at }
  const canonical = canonicalRequest({ method: 'POST', path: '/', headers, body: new Uint8Array() }, [
    'host',
    'x-amz-date',
  ])
  const signature = signCanonicalRequest(
    signingKey(secret, '20150830', 'us-east-1', 'service'),
    scope,
    at,
    canonical,
  )
  assert.equal(signature.toString('hex'), '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b')
})

test('what the library of AWS signs comes out alike, with blanks in headers and any order of them', async () => {
  const path = '/aws/kms/xks/v1/keys/a.b_c-D/encrypt'
  const body = '{"a":"ü"}'
  const credential = { id: 'AKIAI2SFODNN7EXAMPLE', secret: secret.toString() }
  const headers = await signedHeaders(path, body, {
    credential,
    at: new Date('2026-05-04T03:02:01Z'),
    headers: { 'x-b': '  two   blanks ', 'x-a': 'first' },
  })
  const read = readSignatureHeader(headers.authorization)
  assert.ok(typeof read !== 'string', String(read))
  assert.deepEqual(read.signedHeaders, ['content-type', 'host', 'x-a', 'x-amz-date', 'x-b'])
  const request = { method: 'POST', path, headers, body: Buffer.from(body) }
  const key = signingKey(secret, read.date, read.region, read.service)
  const at = headers['x-amz-date'] ?? ''
  assert.deepEqual(
    signCanonicalRequest(key, read, at, canonicalRequest(request, read.signedHeaders)),
    read.signature,
  )
})

test('a request that Warder signs has the signature of the library of AWS', async () => {
  const [body, headers] = ['{"KeyId":"alias/ü"}', { 'x-amz-target': 'TrentService.Encrypt' }]
  const credential = { id: 'ASIAI2SFODNN7EXAMPLE', secret: secret.toString(), sessionToken: 'a/b+c==' }
  const at = new Date('2026-05-04T03:02:01Z')
  const sent = { ...headers, 'x-amz-security-token': credential.sessionToken }
  const host = 'kms.eu-central-1.amazonaws.com'
  const [region, service] = ['eu-central-1', 'kms']
  const theirs = await signedHeaders('/', body, { credential, region, service, at, host, headers: sent })
  const { 'content-type': type = '' } = theirs
  const request = { host, path: '/', headers: { ...headers, 'content-type': type }, body: Buffer.from(body) }
  const ours = signAwsRequest(request, credential, { region, service }, at.getTime())
  assert.deepEqual({ host, ...ours }, theirs)
})

test('the example of a header in the XKS Proxy API is read', () => {
  const read = readSignatureHeader(
    'AWS4-HMAC-SHA256 Credential=MUBSXM6K3KMXHN6RRCXI7TWQH4NU76HYFKRSESPMTSTIBADXQQXQ/20211009/us-west-2/kms-xks-proxy/aws4_request, SignedHeaders=host;x-amz-date, Signature=1164eaa8e79eacaa9c0df54aa42f3b300380d14bedfc08e3b319648d4abfff66',
  )
  assert.ok(typeof read !== 'string')
  assert.deepEqual(
    [read.region, read.service, read.date, read.signedHeaders],
    ['us-west-2', 'kms-xks-proxy', '20211009', ['host', 'x-amz-date']],
  )
})

test('a header that is malformed is refused with a sentence', () => {
  const good = {
    Credential: 'AKIAI2SFODNN7EXAMPLE/20211009/us-west-2/kms-xks-proxy/aws4_request',
    SignedHeaders: 'host;x-amz-date',
    Signature: 'a'.repeat(64),
  }
  const header = (parts: Readonly<Record<string, string>>): string =>
    `AWS4-HMAC-SHA256 ${Object.entries(parts)
      .map(([name, value]) => `${name}=${value}`)
      .join(', ')}`
  assert.ok(typeof readSignatureHeader(header(good)) !== 'string')
  const { Credential, SignedHeaders, Signature } = good
  assert.ok(typeof readSignatureHeader(header({ Signature, SignedHeaders, Credential })) !== 'string')
  const bad = [
    undefined,
    '',
    'Bearer abc',
    'AWS4-HMAC-SHA256',
    'AWS4-HMAC-SHA512 x',
    header(good).replace('AWS4-HMAC-SHA256 ', 'aws4-hmac-sha256 '),
    header({ Credential, SignedHeaders }),
    `${header(good)}, Signature=${'b'.repeat(64)}`,
    `${header(good)}, Other=1`,
    header({ ...good, Credential: 'AKIAI2SFODNN7EXAMPLE/20211009/us-west-2/aws4_request' }),
    header({ ...good, Credential: `${Credential}/x` }),
    header({ ...good, Credential: Credential.replace('aws4_request', 'aws4') }),
    header({ ...good, Credential: Credential.replace('20211009', '2021-10-09') }),
    header({ ...good, SignedHeaders: 'host' }),
    header({ ...good, SignedHeaders: 'x-amz-date' }),
    header({ ...good, SignedHeaders: 'x-amz-date;host' }),
    header({ ...good, SignedHeaders: 'host;host;x-amz-date' }),
    header({ ...good, SignedHeaders: 'Host;x-amz-date' }),
    header({ ...good, SignedHeaders: 'host;x-amz-date;' }),
    header({
      ...good,
      SignedHeaders: `host;x-amz-date;${Array.from({ length: 99 }, (_, n) => `x-${n + 100}`).join(';')}`,
    }),
    header({ ...good, Signature: 'A'.repeat(64) }),
    header({ ...good, Signature: 'a'.repeat(63) }),
    header({ ...good, Signature: '' }),
  ]
  for (const one of bad) assert.equal(typeof readSignatureHeader(one), 'string', String(one))
})

test('a date is read in its one form', () => {
  assert.equal(amzDate('20261231T235959Z'), Date.UTC(2026, 11, 31, 23, 59, 59))
  for (const text of [
    undefined,
    '',
    '20261231',
    '2026-12-31T23:59:59Z',
    '20261331T000000Z',
    '20261231T235959',
    '20261231T235959Z, 20261231T235959Z',
  ])
    assert.equal(amzDate(text), undefined, String(text))
})
