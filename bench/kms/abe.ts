import { parseArgs } from 'node:util'
import {
  createMasterKey,
  createUserKey,
  derivePublicKey,
  encryptionRights,
  type MasterKey,
  parsePolicy,
  structureFromJson,
  userRights,
} from '@warder/covercrypt'
import { decapsulate, encapsulate } from '@warder/covercrypt/testing'
import { startInstallation } from 'warder/testing'
import { median } from '../median.ts'

/**
 * Times attribute-based encryption: processor time of one encapsulation and one decapsulation by the number of rights, and
 * what it costs others: the latency of AES encryptions alone, beside callers who encrypt and decrypt for policies, and, as
 * a measure of what the requests themselves cost, beside as many other AES encryptions.
 *
 * Run: `node bench/kms/abe.ts [--seconds 4] [--callers 4] [--rounds 100]`
 */
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '4' },
    callers: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '100' },
  },
})
const print = (line: string): void => void process.stdout.write(`${line}\n`)

/** Median of the processor time of `act` in milliseconds. */
function cost(rounds: number, act: () => unknown): number {
  for (let round = 0; round < 10; round++) act()
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    const before = process.cpuUsage()
    act()
    const { user, system } = process.cpuUsage(before)
    times.push((user + system) / 1000)
  }
  return median(times)
}

const names = (count: number, suffix = ''): readonly string[] =>
  Array.from({ length: count }, (_, index) => `n${index}${suffix}`)

function times(master: MasterKey, user: string, policy: string, rounds: number): string {
  const rights = encryptionRights(master.structure, parsePolicy(policy))
  const published = derivePublicKey(master)
  const { userKey } = createUserKey(master, userRights(master.structure, parsePolicy(user)))
  const { encapsulation } = encapsulate(published, rights)
  const sealing = cost(rounds, () => encapsulate(published, rights))
  const opening = cost(rounds, () => decapsulate(userKey, encapsulation))
  const held = `${rights.size} of ${userKey.rights.size} rights`
  return `${held.padEnd(18)} encapsulation ${sealing.toFixed(2)} ms, decapsulation ${opening.toFixed(2)} ms`
}

function primitives(): void {
  const rounds = Number(values.rounds)
  print('processor time, median: rights of the ciphertext of those of the user key')
  // Without attributes there is the broadcast right alone.
  print(`classic  ${times(createMasterKey(structureFromJson({})), '*', '*', rounds)}`)
  const classic = createMasterKey(structureFromJson({ A: names(99) }))
  const hybrid = createMasterKey(structureFromJson({ A: names(99, '::+') }))
  for (const count of [1, 5, 10, 20]) {
    const policy = names(count)
      .map((name) => `A::${name}`)
      .join(' || ')
    const slow = Math.ceil(rounds / 5)
    print(`classic  ${times(classic, '*', policy, slow)}`)
    if (count === 1 || count === 20) print(`hybrid   ${times(hybrid, '*', policy, slow)}`)
  }
}

async function beside(): Promise<void> {
  const warder = await startInstallation({ env: { KMS_WORKERS: '1' } })
  const headers = { authorization: `Bearer ${await warder.adminToken()}`, 'content-type': 'application/json' }
  const client = warder.client('kms')
  const post = async (path: string, json: object): Promise<Readonly<Record<string, string>>> => {
    const answer = await client.ask(path, { json, headers })
    if (answer.status !== 200)
      throw new Error(`${path} answered ${answer.status}: ${answer.text.slice(0, 200)}`)
    return answer.json as Readonly<Record<string, string>>
  }
  const keys = '/v1/crypto/keys'
  const { kid } = await post(keys, { kty: 'oct', alg: 'A256GCM' })
  const made = await post(keys, { kty: 'ABE', access_structure: { Team: ['blue'] } })
  const user = await post(keys, { kty: 'ABE', master: made.kid, policy: 'Team::blue' })
  const data = Buffer.alloc(64).toString('base64url')
  const aes = () => post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data })
  const abe = { kid: made.kid_public, alg: 'ABE', enc: 'A256GCM', policy: 'Team::blue', data }
  const latencies = async (): Promise<readonly number[]> => {
    const list: number[] = []
    const end = performance.now() + Number(values.seconds) * 1000
    while (performance.now() < end) {
      const start = performance.now()
      await aes()
      list.push(performance.now() - start)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    return list.sort((one, other) => one - other)
  }
  const at = (list: readonly number[], share: number): number =>
    list[Math.floor(list.length * share)] ?? Number.NaN
  const formatTimes = (list: readonly number[]): string =>
    `p50 ${at(list, 0.5).toFixed(2)} ms, p99 ${at(list, 0.99).toFixed(2)} ms, ${list.length} requests`
  try {
    await latencies()
    const alone = await latencies()
    print(`AES alone    ${formatTimes(alone)}`)
    const beside = async (act: () => Promise<unknown>): Promise<readonly [readonly number[], number]> => {
      let running = true
      let done = 0
      const callers = Array.from({ length: Number(values.callers) }, async () => {
        while (running) {
          await act()
          done += 1
        }
      })
      const busy = await latencies()
      running = false
      await Promise.all(callers)
      return [busy, done]
    }
    const ratio = (list: readonly number[]): string => (at(list, 0.99) / at(alone, 0.99)).toFixed(2)
    const [busy, pairs] = await beside(async () => {
      const sealed = await post('/v1/crypto/encrypt', abe)
      await post('/v1/crypto/decrypt', { ...sealed, kid: user.kid })
    })
    print(`AES beside   ${formatTimes(busy)}, ${2 * pairs} attribute-based operations`)
    // The same number of requests that need no thread: the cost of the requests themselves.
    const pauseMs = (Number(values.seconds) * 1000 * Number(values.callers)) / (2 * pairs)
    const [control, others] = await beside(async () => {
      const start = performance.now()
      await aes()
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, pauseMs - (performance.now() - start))))
    })
    print(`AES control  ${formatTimes(control)}, ${others} other AES operations`)
    print(
      `p99 is ${ratio(busy)} times that alone beside attribute-based operations, ${ratio(control)} beside AES`,
    )
  } finally {
    client.close()
    await warder.stop()
  }
}

primitives()
await beside()
