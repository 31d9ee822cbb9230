import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Started, startKms } from '@warder/kms/testing'
import * as jose from 'jose'
import { type ClientRun, parseSteps, type Step } from './client-run.ts'
import { createMessages, data, type Encrypted, type Messages, text } from './jose-messages.ts'
import { installPython } from './kmip-clients.ts'
import { canRun, runProgram } from './run-program.ts'

async function runStep(step: string, act: () => Promise<unknown>): Promise<Step> {
  try {
    await act()
    return { step, passed: true }
  } catch (error) {
    return { step, passed: false, why: error instanceof Error ? error.message : String(error) }
  }
}

const way = 'JWE and JWS of the REST API, both ways'

/**
 * jose (npm), jwcrypto and authlib (PyPI), and go-jose on what the REST API encrypts and signs, and the REST API on what
 * they encrypt; curl on its HTTPS.
 */
export async function runJoseClients(): Promise<readonly ClientRun[]> {
  await using kms = await startKms({ config: { jose_optional_algorithms: ['A128KW', 'ECDH-ES'] } })
  const messages = await createMessages(kms)
  return [
    await runJose(kms, messages),
    await runPythonJose(kms, messages),
    await runGoJose(kms, messages),
    await runCurl(kms),
  ]
}

/** The step of a client that encrypted passes if the service can decrypt the result. */
async function decryptStep(kms: Started, step: Step & { readonly sealed?: unknown }): Promise<Step> {
  const { sealed, ...told } = step
  if (!told.passed || sealed === undefined) return told
  const answer = await kms.user('alice').post('/v1/crypto/decrypt', sealed)
  return answer.json.data === data ? told : { ...told, passed: false, why: answer.text }
}

async function runJose(kms: Started, { encrypted, signed, recipients }: Messages): Promise<ClientRun> {
  const steps: Step[] = []
  const decrypts = (name: string, { alg, key, jwe }: Encrypted): Promise<Step> =>
    runStep(name, async () => {
      const { plaintext } = await jose.flattenedDecrypt(jwe, await jose.importJWK(key, alg))
      if (Buffer.from(plaintext).toString() !== text) throw new Error('another plaintext')
    })
  for (const message of encrypted) {
    // RFC 7516 §7.2.1 leaves an empty member out; the REST API returns it empty.
    const { encrypted_key: wrapped, ...bare } = message.jwe
    const jwe = wrapped === '' ? bare : message.jwe
    steps.push(await decrypts(`decrypt ${message.name}`, { ...message, jwe }))
    if (message.alg === 'dir')
      steps.push(await decrypts('decrypt dir with the empty encrypted_key of the REST API', message))
  }
  for (const { name, alg, kid, key } of recipients) {
    const seal = async () =>
      new jose.FlattenedEncrypt(Buffer.from(text))
        .setProtectedHeader({ alg, enc: 'A256GCM', kid })
        .encrypt(await jose.importJWK(key, alg))
    let sealed: unknown
    const made = await runStep(`encrypt ${name}`, async () => {
      sealed = await seal()
    })
    steps.push(await decryptStep(kms, { ...made, sealed }))
  }
  for (const { alg, key, jws } of signed)
    steps.push(
      await runStep(`verify ${alg}`, async () =>
        jose.flattenedVerify({ ...jws, payload: data }, await jose.importJWK(key, alg)),
      ),
    )
  const manifest = createRequire(import.meta.url).resolve('jose/package.json')
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }
  return { client: 'jose (npm)', version, way, steps }
}

const [jwcrypto, authlib] = ['1.6.1', '1.9.9']

async function runPythonJose(kms: Started, messages: Messages): Promise<ClientRun> {
  using python = await installPython(`jwcrypto==${jwcrypto}`, `authlib==${authlib}`)
  if (python === undefined) return { missing: 'jwcrypto, authlib: pip cannot install them' }
  const driver = fileURLToPath(new URL('./jose.py', import.meta.url))
  const steps = await drive(kms, messages, 'python3', [driver], python.env)
  return { client: 'jwcrypto, authlib (PyPI)', version: `${jwcrypto}, ${authlib}`, way, steps }
}

async function runGoJose(kms: Started, messages: Messages): Promise<ClientRun> {
  const source = fileURLToPath(new URL('./jose-go', import.meta.url))
  const folder = mkdtempSync(join(tmpdir(), 'warder-jose-go-'))
  try {
    const program = join(folder, 'jose-go')
    if (!canRun('go', ['build', '-C', source, '-o', program, '.'], { GOTOOLCHAIN: 'local' }))
      return { missing: 'go-jose: Go cannot build it' }
    const manifest = readFileSync(join(source, 'go.mod'), 'utf8')
    const version = /go-jose\/v4 v([\d.]+)/.exec(manifest)?.[1] ?? ''
    return { client: 'go-jose (Go)', version, way, steps: await drive(kms, messages, program, [], {}) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Passes the file of messages and keys to a driver; the service decrypts its ciphertexts. */
async function drive(
  kms: Started,
  messages: Messages,
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<readonly Step[]> {
  const file = join(kms.environment.home, 'messages.json')
  writeFileSync(file, JSON.stringify({ text, data, ...messages }), { mode: 0o600 })
  const { code, out, err } = await runProgram(program, [...args, file], { env })
  if (code !== 0) throw new Error(`the driver ended with ${code}: ${err}`)
  const steps: Step[] = []
  for (const step of parseSteps(out.toString('utf8'))) steps.push(await decryptStep(kms, step))
  return steps
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
    const big = JSON.stringify({ tag: 'Hash', value: computeHash('00'.repeat(2 ** 20)) })
    const options = { input: Buffer.from(args.includes('@-') ? big : '') }
    const { code, err } = await runProgram('curl', ['-sS', '--fail', '--cacert', ca, ...args], options)
    steps.push(code === 0 ? { step, passed: true } : { step, passed: false, why: err.trim() })
  }
  return { client: 'curl', version, way: 'HTTPS', steps }
}

function computeHash(hex: string) {
  const algorithm = { tag: 'HashingAlgorithm', type: 'Enumeration', value: 'SHA_256' }
  return [
    { tag: 'CryptographicParameters', value: [algorithm] },
    { tag: 'Data', type: 'ByteString', value: hex },
  ]
}
