import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Started, startKms } from '@warder/kms/testing'
import * as jose from 'jose'
import { type ClientRun, type Step, stepsOf } from './client-run.ts'
import { installPython } from './kmip-clients.ts'
import { canRun, runProgram } from './run-program.ts'

const text = 'attack at dawn'
const data = Buffer.from(text).toString('base64url')
type Jwk = Readonly<Record<string, unknown>>

interface Encrypted {
  readonly alg: string
  readonly key: Jwk
  readonly jwe: jose.FlattenedJWE
}
interface Signed {
  readonly alg: string
  readonly key: Jwk
  readonly jws: { readonly protected: string; readonly signature: string }
}

/** Messages of the service under keys that the client brought, so that it can open and verify them itself. */
async function messagesOf(
  kms: Started,
): Promise<{ encrypted: readonly Encrypted[]; signed: readonly Signed[] }> {
  const alice = kms.user('alice')
  const imported = async (jwk: Jwk): Promise<string> => (await alice.post('/v1/crypto/keys', jwk)).json.kid
  const jwkOf = (key: KeyObject): Jwk => key.export({ format: 'jwk' }) as Jwk
  const oct = { kty: 'oct', alg: 'A256GCM', k: randomBytes(32).toString('base64url') }
  const rsa = jwkOf(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey)
  const ec = jwkOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey)
  const encrypted: Encrypted[] = []
  for (const [alg, jwk] of [
    ['dir', oct],
    ['RSA-OAEP', { ...rsa, alg: 'RSA-OAEP' }],
    ['RSA-OAEP-256', { ...rsa, alg: 'RSA-OAEP-256' }],
  ] as const) {
    const request = { kid: await imported(jwk), alg, enc: 'A256GCM', data }
    const { alg: _alg, ...key } = jwk as Jwk
    encrypted.push({ alg, key, jwe: (await alice.post('/v1/crypto/encrypt', request)).json })
  }
  const signed: Signed[] = []
  for (const [alg, jwk] of [
    ['RS256', rsa],
    ['PS256', rsa],
    ['ES256', ec],
  ] as const) {
    const request = { kid: await imported({ ...jwk, alg }), alg, data }
    const { d, p, q, dp, dq, qi, ...key } = jwk
    signed.push({ alg, key, jws: (await alice.post('/v1/crypto/sign', request)).json })
  }
  return { encrypted, signed }
}

async function stepOf(step: string, act: () => Promise<unknown>): Promise<Step> {
  try {
    await act()
    return { step, passed: true }
  } catch (error) {
    return { step, passed: false, why: error instanceof Error ? error.message : String(error) }
  }
}

/** jose (npm), and jwcrypto and authlib (PyPI), on what the REST API encrypts and signs; curl on its HTTPS. */
export async function runJoseClients(): Promise<readonly ClientRun[]> {
  await using kms = await startKms()
  const messages = await messagesOf(kms)
  return [await runJose(messages), await runPythonJose(kms, messages), await runCurl(kms)]
}

async function runJose({ encrypted, signed }: Awaited<ReturnType<typeof messagesOf>>): Promise<ClientRun> {
  const steps: Step[] = []
  const decrypts = (name: string, { alg, key, jwe }: Encrypted): Promise<Step> =>
    stepOf(name, async () => {
      const { plaintext } = await jose.flattenedDecrypt(jwe, await jose.importJWK(key, alg))
      if (Buffer.from(plaintext).toString() !== text) throw new Error('another plaintext')
    })
  for (const message of encrypted) {
    const { alg } = message
    if (alg === 'dir') {
      // RFC 7516 §7.2.1 leaves an empty member out; the specification of this interface (§2) has it empty.
      const { encrypted_key: _empty, ...jwe } = message.jwe
      steps.push(await decrypts('decrypt dir without the empty encrypted_key', { ...message, jwe }))
      steps.push(
        await decrypts('decrypt dir with the empty encrypted_key (§2 of the specification)', message),
      )
    } else steps.push(await decrypts(`decrypt ${alg}`, message))
  }
  for (const { alg, key, jws } of signed)
    steps.push(
      await stepOf(`verify ${alg}`, async () =>
        jose.flattenedVerify({ ...jws, payload: data }, await jose.importJWK(key, alg)),
      ),
    )
  const manifest = createRequire(import.meta.url).resolve('jose/package.json')
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }
  return { client: 'jose (npm)', version, way: 'JWE and JWS of the REST API', steps }
}

const [jwcrypto, authlib] = ['1.6.1', '1.9.9']

async function runPythonJose(
  kms: Started,
  messages: Awaited<ReturnType<typeof messagesOf>>,
): Promise<ClientRun> {
  using python = await installPython(`jwcrypto==${jwcrypto}`, `authlib==${authlib}`)
  if (python === undefined) return { missing: 'jwcrypto, authlib: pip cannot install them' }
  const file = join(kms.environment.home, 'messages.json')
  writeFileSync(file, JSON.stringify({ text, data, ...messages }), { mode: 0o600 })
  const driver = fileURLToPath(new URL('./jose.py', import.meta.url))
  const { code, out, err } = await runProgram('python3', [driver, file], { env: python.env })
  if (code !== 0) throw new Error(`the driver of jwcrypto and authlib ended with ${code}: ${err}`)
  const steps = stepsOf(out.toString('utf8'))
  return {
    client: 'jwcrypto, authlib (PyPI)',
    version: `${jwcrypto}, ${authlib}`,
    way: 'JWE and JWS of the REST API',
    steps,
  }
}

async function runCurl(kms: Started): Promise<ClientRun> {
  if (!canRun('curl', ['--version'])) return { missing: 'curl: it is not on this machine' }
  const version = (await runProgram('curl', ['--version'])).out.toString('utf8').split(' ')[1] ?? ''
  const ca = join(kms.environment.home, 'tls', 'ca.crt')
  const address = `https://localhost:${kms.port}`
  const steps: Step[] = []
  for (const [step, ...args] of [
    ['GET /version', `${address}/version`],
    ['GET /openapi.yaml, compressed', '--compressed', `${address}/openapi.yaml`],
    [
      'POST /v1/crypto/keys with a bearer token',
      ...['-H', `Authorization: Bearer ${kms.token({ sub: 'alice' })}`],
      ...['--json', '{"kty":"oct","alg":"A256GCM"}', `${address}/v1/crypto/keys`],
    ],
    [
      'POST of 1 MiB with Expect: 100-continue',
      ...['-H', `Authorization: Bearer ${kms.token({ sub: 'alice' })}`, '-H', 'Expect: 100-continue'],
      ...['-H', 'Content-Type: application/json', '-d', '@-', `${address}/kmip/2_1`],
    ],
  ] satisfies readonly (readonly [string, ...string[]])[]) {
    const big = JSON.stringify({ tag: 'Hash', value: hashOf('00'.repeat(2 ** 20)) })
    const options = { input: Buffer.from(args.includes('@-') ? big : '') }
    const { code, err } = await runProgram('curl', ['-sS', '--fail', '--cacert', ca, ...args], options)
    steps.push(code === 0 ? { step, passed: true } : { step, passed: false, why: err.trim() })
  }
  return { client: 'curl', version, way: 'HTTPS', steps }
}

function hashOf(hex: string) {
  const algorithm = { tag: 'HashingAlgorithm', type: 'Enumeration', value: 'SHA_256' }
  return [
    { tag: 'CryptographicParameters', value: [algorithm] },
    { tag: 'Data', type: 'ByteString', value: hex },
  ]
}
