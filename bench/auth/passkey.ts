import { parseArgs } from 'node:util'
import { Authenticator } from '@warder/auth/testing'
import type { Answer, Ask } from '@warder/command-line/https-client'
import { startInstallation } from 'warder/testing'
import { median } from '../median.ts'
import { measureCost } from '../server/cost.ts'

/**
 * Measures logins with a passkey, one after the other. A login is two requests. Prints the processor time of the
 * authentication service for each login, and the duration of the second request.
 *
 * Run: `node bench/auth/passkey.ts [--logins 500]`
 */
const { values } = parseArgs({ options: { logins: { type: 'string', default: '500' } } })
const logins = Number(values.logins)
const print = (line: string): void => void process.stdout.write(`${line}\n`)

await using cleanup = new AsyncDisposableStack()
const warder = await startInstallation({
  env: {
    AUTH_WORKERS: '1',
    AUTH_LOGIN_RATE_LIMIT_PER_SECOND: '100000',
    AUTH_LOGIN_RATE_LIMIT_BURST: '1000000',
  },
})
cleanup.defer(async () => void (await warder.stop()))
const auth = warder.client('auth')
cleanup.defer(() => auth.close())
const admin = { cookie: `_ea_=${await warder.adminToken()}` }

async function ask(path: string, options: Ask): Promise<Answer> {
  const answer = await auth.ask(path, { method: 'POST', ...options })
  if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${answer.text}`)
  return answer
}
const readCookie = ({ headers }: Answer, name: string): string =>
  [headers['set-cookie'] ?? []]
    .flat()
    .map((header) => header.split(';')[0] ?? '')
    .find((value) => value.startsWith(`${name}=`)) ?? ''

await ask('/admins/realms', {
  headers: admin,
  json: {
    id: 'shop',
    auth_params: { username_password_params: { allow_expired_passwords: false }, fido2_params: {} },
    ...{ session_max_age_seconds: 3600, session_max_stale_age_seconds: 3600 },
  },
})
const plaintext = 'only the first one knows'
await ask('/realms/shop/userpass', {
  headers: admin,
  json: { username: 'ann', password_input: { plaintext } },
})
const authorization = `Basic ${Buffer.from(`ann:${plaintext}`).toString('base64')}`
const session = readCookie(await ask('/login?realm=shop', { headers: { authorization }, json: {} }), '_ea_')

type Creation = Parameters<Authenticator['create']>[0]
type Request = Parameters<Authenticator['get']>[0]
const authenticator = new Authenticator({ origin: `https://localhost:${new URL(warder.authUrl).port}` })
const creation = await ask('/account/passkeys/options', { headers: { cookie: session } })
await ask('/account/passkeys', {
  headers: { cookie: `${session}; ${readCookie(creation, '_ea_passkey')}` },
  json: { name: 'Laptop', credential: authenticator.create(creation.json as Creation) },
})

/** @returns milliseconds of both requests */
async function logIn(): Promise<readonly [options: number, login: number]> {
  const began = performance.now()
  const options = await ask('/passkeys/login/options?realm=shop', {})
  const received = performance.now()
  const credential = authenticator.get(options.json as Request)
  const sent = performance.now()
  await ask('/passkeys/login?realm=shop', {
    headers: { cookie: readCookie(options, '_ea_passkey') },
    json: { credential },
  })
  return [received - began, performance.now() - sent]
}

const first = await logIn()
print(`the first login: ${first.map((ms) => ms.toFixed(1)).join(' and ')} ms`)
for (let count = 0; count < 50; count += 1) await logIn()
const pid = warder.pid('auth')
const before = measureCost([pid]).cpuSeconds
const times: (readonly [number, number])[] = []
for (let count = 0; count < logins; count += 1) times.push(await logIn())
const cpuMs = (1000 * (measureCost([pid]).cpuSeconds - before)) / logins
const sorted = times.map(([, login]) => login).toSorted((one, other) => one - other)
print(
  `${logins} logins: ${cpuMs.toFixed(2)} ms of processor time of auth each; the options take ` +
    `${median(times.map(([options]) => options)).toFixed(2)} ms (p50), the login ${median(sorted).toFixed(2)} ms (p50), ` +
    `${(sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN).toFixed(2)} ms (p99)`,
)
