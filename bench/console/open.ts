import { parseArgs } from 'node:util'
import { startConsole } from '@warder/console/testing'
import type { Page } from 'playwright-core'
import { startLoadClient } from '../load/client.ts'
import { type DriveOptions, drive, type Target } from '../load/drive.ts'
import { median } from '../median.ts'
import { prepareScenarios } from '../scenarios.ts'
import { measureCost } from '../server/cost.ts'
import { pin, pinning } from '../server/pin.ts'

/**
 * Measures what open consoles cost: the rate of `encrypt` for each second of processor time of the kms with ten pages open
 * and visible, to that with none, in turn. They follow the audit log, show keys, and show a request for approval. Then the
 * processor time of the kms for the ten pages alone, and for one reading of the newest records.
 *
 * Run: `node bench/console/open.ts [--consoles 10] [--rounds 7] [--seconds 6]`. Requires Chromium.
 */
const { values } = parseArgs({
  options: {
    consoles: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '6' },
  },
})
const options: DriveOptions = { seconds: Number(values.seconds), warmupSeconds: 0.5, connections: 32 }
const idleMs = 20_000
const print = (line: string): void => void process.stdout.write(`${line}\n`)

await using started = await startConsole({ AUTH_WORKERS: '1', KMS_WORKERS: '1' })
const { installation } = started
const load = startLoadClient()
const kms = installation.client('kms')
try {
  const [scenario] = (await prepareScenarios(installation, kms, 'https://127.0.0.1:1')).filter(
    ({ name }) => name === 'encrypt A256GCM 64 B',
  )
  if (scenario === undefined) throw new Error('no such scenario')
  const pid = installation.pid('kms')
  const pinned = pinning()
  if (pinned !== undefined) {
    pin(load.pid, pinned.load)
    pin(pid, pinned.servers)
  }
  const target: Target = { scenario, pid, caFile: installation.caFile }
  await using opened = await started.open()
  await opened.logInAtKms('/ui/keys', '_', 'admin', installation.password)
  const rooms = ['/ui/audit', '/ui/keys', '/ui/approvals', '/ui/audit', '/ui/access']
  const open = async (path: string): Promise<Page> => {
    // Pages of one window are hidden but for one; a context of its own has a window.
    const state = await opened.context.storageState()
    const context = await started.browser.newContext({ storageState: state })
    const page = await context.newPage()
    await page.goto(`${started.origins.kms}${path}`)
    await page.locator('h1').first().waitFor()
    if (path === '/ui/audit') await page.getByLabel('Show the newest records').check()
    return page
  }
  const perSecond = async (): Promise<number> => {
    const { requests, cpuSeconds } = await drive(load, target, options)
    return requests / cpuSeconds
  }
  const headers = { authorization: `Bearer ${await installation.adminToken()}` }
  const measureReading = async (title: string): Promise<void> => {
    const before = measureCost([pid]).cpuSeconds
    const reads = 100
    for (let count = 0; count < reads; count += 1) await kms.ask('/v1/audit/records', { headers })
    const each = (1000 * (measureCost([pid]).cpuSeconds - before)) / reads
    print(`one reading of the newest 100 records${title}: ${each.toFixed(2)} ms of processor time`)
  }
  /** Milliseconds of processor time of the kms a second. */
  const measureIdle = async (): Promise<number> => {
    const before = measureCost([pid]).cpuSeconds
    await new Promise((resolve) => setTimeout(resolve, idleMs))
    return (measureCost([pid]).cpuSeconds - before) / (idleMs / 1_000_000)
  }
  await measureReading('')
  const without = await measureIdle()
  await drive(load, target, { ...options, warmupSeconds: 3 })
  const ratios: number[] = []
  let idle = 0
  for (let round = 0; round < Number(values.rounds); round += 1) {
    const none = await perSecond()
    const pages: Page[] = []
    for (let count = 0; count < Number(values.consoles); count += 1)
      pages.push(await open(rooms[count % rooms.length] ?? ''))
    ratios.push((await perSecond()) / none)
    if (round === 0) idle = await measureIdle()
    for (const page of pages) await page.context().close()
  }
  print(
    `encrypt with ${values.consoles} consoles open: ${median(ratios).toFixed(3)} of the rate without ` +
      `(${ratios.map((ratio) => ratio.toFixed(2)).join(', ')})`,
  )
  print(
    `the kms without requests: ${without.toFixed(1)} ms of processor time a second, with the consoles ${idle.toFixed(1)} ms`,
  )
  await measureReading(' after so many encryptions')
} finally {
  load.close()
  kms.close()
}
