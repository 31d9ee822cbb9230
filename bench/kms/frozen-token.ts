// A caller who encrypts with a key of the database: alone, while others use a key of an HSM, and while the library of the
// HSM is frozen: `node bench/kms/frozen-token.ts [--seconds 14] [--rounds 7]`. Needs SoftHSM.
//
// The three are measured in turn. As many requests for the HSM are sent in both cases, 50 a second. The process of the library
// is frozen by SIGSTOP, and so is each process that replaces it.
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { HttpsClient } from '@warder/command-line/https-client'
import { createSofthsmToken, missingSofthsm } from '@warder/pkcs11/testing'
import { startInstallation } from 'warder/testing'
import { median } from '../median.ts'

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '14' }, rounds: { type: 'string', default: '7' } },
})
if (missingSofthsm !== false) throw new Error(missingSofthsm)
const [seconds, rounds] = [Number(values.seconds), Number(values.rounds)]
/** Between requests of the calm caller, and between those for the HSM. */
const [calmMs, hsmMs] = [3, 20]
/** Connections of the callers of the HSM, and their requests without a reply. */
const [hsmClients, maxPending] = [8, 64]
const print = (line: string): void => void process.stdout.write(`${line}\n`)

using softhsm = createSofthsmToken()
const home = join(softhsm.folder, 'home')
mkdirSync(home, { mode: 0o700 })
const hsm = { name: 'main', library: softhsm.library, token_label: softhsm.label, pin_file: softhsm.pinFile }
const warder = await startInstallation({
  home,
  env: {
    SOFTHSM2_CONF: softhsm.env.SOFTHSM2_CONF ?? '',
    KMS_HSM: JSON.stringify({ ...hsm, admins: ['admin'] }),
    KMS_WORKERS: '1',
    AUTH_WORKERS: '1',
  },
})
const headers = { authorization: `Bearer ${await warder.adminToken()}` }
const kms = warder.pid('kms')
const data = Buffer.alloc(64, 1).toString('base64url')

async function create(client: HttpsClient, kid?: string): Promise<object> {
  const reply = await client.ask('/v1/crypto/keys', { json: { kty: 'oct', alg: 'A256GCM', kid }, headers })
  if (reply.status !== 200) throw new Error(`a key was not created: ${reply.status} ${reply.text}`)
  return { kid: (reply.json as { kid: string }).kid, alg: 'dir', enc: 'A256GCM', data }
}

function signalLibrary(signal: NodeJS.Signals): void {
  for (const pid of readFileSync(`/proc/${kms}/task/${kms}/children`, 'utf8').trim().split(' ')) {
    try {
      if (pid !== '') process.kill(Number(pid), signal)
    } catch {
      // It has just ended.
    }
  }
}

/** Requests for the key of the HSM at an even rate, whether the earlier ones were answered or not, until they are stopped. */
function callHsm(clients: readonly HttpsClient[], use: object) {
  const statuses = new Map<number, number>()
  const pending = new Set<Promise<void>>()
  const send = async (client: HttpsClient): Promise<void> => {
    const { status } = await client.ask('/v1/crypto/encrypt', { json: use, headers })
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }
  let next = 0
  const timer = setInterval(() => {
    const client = clients[next++ % clients.length]
    if (client === undefined || pending.size >= maxPending) return
    const one = send(client).finally(() => pending.delete(one))
    pending.add(one)
  }, hsmMs)
  return {
    statuses,
    async stop(): Promise<void> {
      clearInterval(timer)
      await Promise.all(pending)
    },
  }
}

async function measureCalm(client: HttpsClient, use: object): Promise<{ p50: number; p99: number }> {
  const list: number[] = []
  for (const end = performance.now() + 1000 * seconds; performance.now() < end; ) {
    const began = performance.now()
    const { status, text } = await client.ask('/v1/crypto/encrypt', { json: use, headers })
    if (status !== 200) throw new Error(`${status}: ${text}`)
    list.push(performance.now() - began)
    await delay(calmMs)
  }
  list.sort((a, b) => a - b)
  const at = (share: number): number => list[Math.floor(list.length * share)] ?? Number.NaN
  return { p50: at(0.5), p99: at(0.99) }
}

const calm = warder.client('kms')
const others = Array.from({ length: hsmClients }, () => warder.client('kms'))
type Times = Awaited<ReturnType<typeof measureCalm>>
try {
  const [here, there] = [await create(calm), await create(calm, 'hsm::main::bench')]
  await measureCalm(calm, here)
  const measured: { alone: Times; working: Times; frozen: Times }[] = []
  for (let round = 0; round < rounds; round += 1) {
    const alone = await measureCalm(calm, here)
    const healthy = callHsm(others, there)
    const working = await measureCalm(calm, here)
    await healthy.stop()
    if (healthy.statuses.size !== 1 || !healthy.statuses.has(200)) throw new Error('the HSM did not work')
    signalLibrary('SIGSTOP')
    const freezer = setInterval(() => signalLibrary('SIGSTOP'), 20)
    const hanging = callHsm(others, there)
    const frozen = await measureCalm(calm, here)
    clearInterval(freezer)
    signalLibrary('SIGCONT')
    await hanging.stop()
    measured.push({ alone, working, frozen })
    const show = ({ p50, p99 }: Times): string => `${p50.toFixed(2)}/${p99.toFixed(2)}`
    print(
      `p50/p99 in ms: alone ${show(alone)}, working ${show(working)}, frozen ${show(frozen)}; replies while frozen and after ${JSON.stringify([...hanging.statuses])}`,
    )
    const isBack = async (): Promise<boolean> =>
      (await calm.ask('/v1/crypto/encrypt', { json: there, headers })).status === 200
    for (let tries = 0; !(await isBack()); tries += 1) {
      if (tries === 600) throw new Error('the HSM did not come back')
      await delay(100)
    }
  }
  for (const other of ['working', 'alone'] as const)
    for (const share of ['p99', 'p50'] as const) {
      const ratio = median(measured.map((one) => one.frozen[share] / one[other][share]))
      print(`${share}, frozen to ${other}: ${ratio.toFixed(2)}, the median of ${rounds} rounds`)
    }
} finally {
  for (const client of [calm, ...others]) client.close()
  await warder.stop()
}
