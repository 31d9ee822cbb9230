import { fork } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import {
  type Answer,
  acsCall,
  begunLogin,
  type Client,
  client,
  samlParams,
  sharedKey,
  TestIdp,
  toAcsUrl,
  toSpEntityId,
} from '@warder/auth/testing'
import { type Installation, startInstallation } from 'warder/testing'
import { measureCost } from '../server/cost.ts'
import type { Statuses } from './flood-process.ts'
import type { SamlFloodPlan } from './saml-flood.ts'

/**
 * Targets of SAML: processor time of a login, with and without its session; p99 of /whoami while two hundred
 * hostile responses of 256 KiB are posted at once, each within a login that was begun.
 *
 * Run: `node bench/auth/saml.ts [--logins 150] [--seconds 4]`
 */
const { values } = parseArgs({
  options: { logins: { type: 'string', default: '150' }, seconds: { type: 'string', default: '4' } },
})
const logins = Number(values.logins)
const seconds = Number(values.seconds)
const atOnce = 200
const print = (line: string): void => void process.stdout.write(`${line}\n`)
const groups = Array.from({ length: 20 }, (_, index) => `group ${index}`)
const now = (): number => Math.floor(Date.now() / 1000)

const place = { spEntityId: toSpEntityId('sso'), acsUrl: toAcsUrl('sso') }
const idp = new TestIdp({ key: await sharedKey('idp'), ...place })

async function prepare(warder: Installation, auth: Client): Promise<void> {
  const saml_params = samlParams(idp, 'sso', { role_attribute: 'groups' })
  const json = {
    id: 'sso',
    auth_params: { saml_params },
    session_max_age_seconds: 3600,
    session_max_stale_age_seconds: 600,
  }
  const cookie = await warder.adminToken()
  const made = await auth.call('POST', '/admins/realms', { json, cookie })
  if (made.status !== 201) throw new Error(made.text)
}

const begin = async (auth: Client) => begunLogin(await auth.call('GET', '/saml/sso/login'))

/** Milliseconds of processor time of the service for each of these posts. */
async function costOfPosts(
  warder: Installation,
  auth: Client,
  nameId: string | null,
  status: number,
): Promise<number> {
  const calls = []
  for (let index = 0; index < logins; index++) {
    const login = await begin(auth)
    const wishes = {
      requestId: login.requestId,
      now: now(),
      nameId,
      attributes: { groups, mail: ['ann@example.org'] },
    }
    calls.push(acsCall(login, idp.response(wishes)))
  }
  const before = measureCost([warder.pid('auth')]).cpuSeconds
  for (const call of calls) {
    const answer: Answer = await auth.call('POST', '/saml/sso/acs', call)
    if (answer.status !== status) throw new Error(answer.text)
  }
  return ((measureCost([warder.pid('auth')]).cpuSeconds - before) * 1000) / logins
}

/** Percentile of the duration of /whoami, requested repeatedly for some seconds. */
async function whoamiP99(auth: Client, cookie: string): Promise<number> {
  const times: number[] = []
  const until = performance.now() + seconds * 1000
  while (performance.now() < until) {
    const began = performance.now()
    const { status } = await auth.call('GET', '/whoami', { cookie })
    if (status !== 200) throw new Error(`whoami: ${status}`)
    times.push(performance.now() - began)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  times.sort((a, b) => a - b)
  return times[Math.floor(times.length * 0.99)] ?? Number.NaN
}

/** A form of 256 KiB: everything is right but the signature, and the document is as full as the gate allows. */
function hostileForm(requestId: string): string {
  const right = idp.response({ requestId, now: now() })
  const forged = right.replace(/(SignatureValue>)..../, '$1AAAA')
  const filler = `<x a="${'y'.repeat(80)}"/>`.repeat(1800)
  const full = forged.replace(
    '<samlp:Status>',
    `<samlp:Extensions>${filler}</samlp:Extensions><samlp:Status>`,
  )
  const fields = { RelayState: requestId, SAMLResponse: Buffer.from(full).toString('base64') }
  return new URLSearchParams(fields).toString().padEnd(262_144, ' ').slice(0, 262_144)
}

const warder = await startInstallation({
  env: { AUTH_LOGIN_RATE_LIMIT_PER_SECOND: '100000', AUTH_LOGIN_RATE_LIMIT_BURST: '1000000' },
})
const auth = client(Number(new URL(warder.authUrl).port), readFileSync(warder.caFile, 'utf8'))
try {
  await prepare(warder, auth)
  await costOfPosts(warder, auth, 'ann', 200)
  const whole = await costOfPosts(warder, auth, 'ann', 200)
  const refused = await costOfPosts(warder, auth, null, 401)
  print(
    `login, RSA-2048, 20 groups: ${whole.toFixed(2)} ms of processor time; ${refused.toFixed(2)} ms without the session`,
  )

  const cookie = await warder.adminToken()
  const calm = await whoamiP99(auth, cookie)
  const posts = []
  for (let index = 0; index < atOnce; index++) {
    const { requestId, cookie: own } = await begin(auth)
    posts.push({ body: hostileForm(requestId), cookie: own })
  }
  const child = fork(fileURLToPath(new URL('./saml-flood.ts', import.meta.url)))
  const connected = new Promise((resolve) => child.once('message', resolve))
  const plan: SamlFloodPlan = { url: `${warder.authUrl}/saml/sso/acs`, caFile: warder.caFile, posts, atOnce }
  child.send(plan)
  await connected
  const result = new Promise<Statuses>((resolve) => child.once('message', resolve))
  const flooded = await whoamiP99(auth, cookie)
  child.send('stop')
  print(
    `whoami p99: ${calm.toFixed(1)} ms alone, ${flooded.toFixed(1)} ms beside ${atOnce} hostile responses at once`,
  )
  print(`they were answered ${JSON.stringify(await result)}`)
} finally {
  auth.close()
  await warder.stop()
  rmSync(warder.home, { recursive: true, force: true })
}
