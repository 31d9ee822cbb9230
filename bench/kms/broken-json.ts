import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { httpsTransport } from '@warder/client'
import { startInstallation } from 'warder/testing'

/**
 * Measures the memory of the key management service while authenticated callers send large request bodies of broken JSON.
 * It requires status 400 for each kind of body and prints the peak of resident memory.
 *
 * Run: `node bench/kms/broken-json.ts [--callers 8] [--mebibytes 10] [--rounds 4] [--path /v1/crypto/batch]`
 */
const { values } = parseArgs({
  options: {
    callers: { type: 'string', default: '8' },
    mebibytes: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '4' },
    path: { type: 'string', default: '/v1/crypto/batch' },
  },
})
const data = 'A'.repeat(Number(values.mebibytes) * 1024 * 1024)
const kinds: Readonly<Record<string, string>> = {
  'brace is missing': `{"data":"${data}"`,
  'string is cut off': `{"data":"${data}`,
  'control character at the end': `{"data":"${data}\n"}`,
  'unknown escape at the end': `{"data":"${data}\\x"}`,
  'unknown escape at the start': `{"data":"\\x${data}"}`,
  'broken string behind many': `[${`"${data.slice(0, 200)}",`.repeat(data.length / 203)}"\t"]`,
}
const print = (line: string): void => void process.stdout.write(`${line}\n`)

const warder = await startInstallation()
const headers = { authorization: `Bearer ${await warder.adminToken()}`, 'content-type': 'application/json' }
const pid = warder.pid('kms')

/** MiB: resident memory, or its peak since `clearPeak`. */
function memory(name: 'VmRSS' | 'VmHWM'): number {
  const [, kib] = new RegExp(`${name}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kib) / 1024
}

/** proc(5): 5 resets VmHWM. */
const clearPeak = (): void => writeFileSync(`/proc/${pid}/clear_refs`, '5')

const transport = httpsTransport({
  baseUrl: warder.kmsUrl,
  ca: readFileSync(warder.caFile, 'utf8'),
  timeoutMs: 60_000,
  maxConnections: Number(values.callers),
  maxAnswerBytes: 64 * 1024,
})

async function repeat(body: Buffer, statuses: Map<number, number>): Promise<void> {
  for (let round = 0; round < Number(values.rounds); round++) {
    const { status } = await transport.send('POST', values.path, headers, body)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }
}

try {
  print(`before ${memory('VmRSS').toFixed(0)} MiB`)
  for (const [kind, text] of Object.entries(kinds)) {
    const body = Buffer.from(text)
    const statuses = new Map<number, number>()
    clearPeak()
    const began = performance.now()
    await Promise.all(Array.from({ length: Number(values.callers) }, () => repeat(body, statuses)))
    const answers = [...statuses].map(([status, count]) => `${count} of ${status}`).join(', ')
    const seconds = (performance.now() - began) / 1000
    print(
      `${kind.padEnd(30)} peak ${memory('VmHWM').toFixed(0).padStart(5)} MiB   ${seconds.toFixed(1)} s   ${answers}`,
    )
  }
  print(`after  ${memory('VmRSS').toFixed(0)} MiB`)
} finally {
  transport.close()
  await warder.stop()
}
