import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { issuerId } from '@warder/authority'
import { parseCertificate } from '@warder/pki'
import { openSqlite, query } from '@warder/storage'
import { startInstallation } from 'warder/testing'

/**
 * Measures a revocation list of 100,000 entries, of a million certificates: how long it takes to be signed and served
 * after a revocation, and its effect on a client that encrypts 64 bytes every few milliseconds.
 *
 * Run: `node bench/pki/crl.ts [--issued 1000000] [--revoked 100000] [--seconds 5] [--rounds 8]`
 */
const { values } = parseArgs({
  options: {
    issued: { type: 'string', default: '1000000' },
    revoked: { type: 'string', default: '100000' },
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '8' },
  },
})
const issued = Number(values.issued)
const revoked = Number(values.revoked)
const betweenMs = 5
const print = (line: string): void => void process.stdout.write(`${line}\n`)
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Many certificates at once, the first of them revoked. */
const fill = query<readonly (string | number)[], unknown>(
  `INSERT INTO pki_issued (id, issuer, authority_id, certificate_id, owner, profile, subject, fingerprint, not_before,
     not_after, issued_at, revoked_at, reason, invalidity_at, changed_at, crl_number, version)
   WITH RECURSIVE numbers (n) AS (SELECT ? UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
   SELECT ? || '.41' || hex(randomblob(16)), ?, ?, NULL, 'admin', 'server', 'CN=host ' || n, '', ?, ?, ?,
     CASE WHEN n <= ? THEN ? ELSE NULL END, CASE WHEN n <= ? THEN 'superseded' ELSE NULL END, NULL, ?, NULL, 1
   FROM numbers`,
)

const warder = await startInstallation()
const kms = warder.client('kms')
const headers = { authorization: `Bearer ${await warder.adminToken()}`, 'content-type': 'application/json' }
// biome-ignore lint/suspicious/noExplicitAny: answers of several shapes
async function post(path: string, json: unknown): Promise<any> {
  const answer = await kms.ask(path, { json, headers })
  if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${answer.text}`)
  return answer.json
}

async function latencies(until: () => boolean): Promise<number[]> {
  const list: number[] = []
  while (!until()) {
    const began = performance.now()
    await post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data })
    list.push(performance.now() - began)
    await sleep(betweenMs)
  }
  return list.sort((a, b) => a - b)
}
/** VmHWM of Linux; NaN elsewhere. */
function peakMiB(pid: number): number {
  try {
    const [, kib] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return Math.round(Number(kib) / 1024)
  } catch {
    return Number.NaN
  }
}

const p99 = (sorted: readonly number[]): number => sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN
const for_ = (ms: number) => {
  const end = performance.now() + ms
  return () => performance.now() > end
}

const { kid } = await post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
const data = randomBytes(64).toString('base64url')
try {
  const ca = await post('/v1/pki/authorities', { subject: 'CN=Bench', alg: 'ES256' })
  const der = Buffer.from(String(ca.certificate).replaceAll(/-----[A-Z ]+-----|\s/g, ''), 'base64')
  const { subject: name, spki } = parseCertificate(der)
  const issuer = issuerId({ name, spki })
  const db = openSqlite({ path: join(warder.home, 'kms.db') })
  const now = Math.floor(Date.now() / 1000) * 1000
  const part = 50_000
  for (let from = 1; from <= issued; from += part) {
    const row = [
      from,
      Math.min(from + part - 1, issued),
      issuer,
      issuer,
      ca.id,
      now,
      now + 86_400_000,
      now,
      revoked,
      now,
      revoked,
      now,
    ]
    await db.commit([{ query: fill, params: row }])
  }
  await db.close()
  await latencies(for_(3000))
  const alone = await latencies(for_(Number(values.seconds) * 1000))
  const numberNow = async (): Promise<number> => {
    const answer = await kms.ask(`/v1/pki/authorities/${ca.id}`, { method: 'GET', headers })
    return (answer.json as { crl: { number: number } }).crl.number
  }
  /** One revocation until its list is there. */
  async function round() {
    const leaf = await post(`/v1/pki/authorities/${ca.id}/certificates`, {
      alg: 'ES256',
      names: ['a.example'],
    })
    const before = await numberNow()
    let served = false
    const began = performance.now()
    await post(`/v1/pki/certificates/${leaf.id}/revoke`, {})
    const waiting = (async () => {
      while ((await numberNow()) === before) await sleep(20)
      served = true
      return performance.now() - began
    })()
    const beside = await latencies(() => served)
    return { beside, ms: await waiting }
  }
  const rounds: Awaited<ReturnType<typeof round>>[] = []
  for (let count = 0; count < Number(values.rounds); count++) rounds.push(await round())
  const beside = rounds.flatMap((one) => one.beside).sort((a, b) => a - b)
  const waited = rounds.map(({ ms }) => ms).sort((a, b) => a - b)
  print(`${issued.toLocaleString('en')} issued, ${(revoked + 1).toLocaleString('en')} revoked`)
  const made = [...warder.output().matchAll(/"ms":(\d+),"msg":"a revocation list was signed"/g)]
    .slice(1)
    .map(([, ms]) => Number(ms))
    .sort((a, b) => a - b)
  const seconds = (sorted: readonly number[]) =>
    `${((sorted[sorted.length >> 1] ?? Number.NaN) / 1000).toFixed(2)} s, at most ${((sorted.at(-1) ?? Number.NaN) / 1000).toFixed(2)} s`
  print(`the list is there ${seconds(waited)} after the revocation; made in ${seconds(made)}`)
  print(`most memory of the service: ${peakMiB(warder.pid('kms'))} MiB`)
  print(`p99 of encrypt: ${p99(alone).toFixed(2)} ms alone, ${p99(beside).toFixed(2)} ms while it is made`)
} finally {
  kms.close()
  await warder.stop()
}
