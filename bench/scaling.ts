import { startInstallation } from 'warder/testing'
import type { LoadClient } from './load/client.ts'
import { type DriveOptions, drive, type Target } from './load/drive.ts'
import { median } from './median.ts'
import { prepareScenarios } from './scenarios.ts'
import { type Pinning, pin } from './server/pin.ts'

/**
 * Measures the cost of a second worker: processor time of a request with two workers, to that with one, in turn with it (median
 * of the rounds).
 */
export async function costOfSecondWorker(
  load: LoadClient,
  withOne: Target,
  rounds: number,
  options: DriveOptions,
  pinning: Pinning | undefined,
): Promise<number> {
  const warder = await startInstallation({ env: { AUTH_WORKERS: '1', KMS_WORKERS: '2' } })
  const kms = warder.client('kms')
  try {
    const scenarios = await prepareScenarios(warder, kms, 'https://127.0.0.1:1')
    const scenario = scenarios.find(({ name }) => name === withOne.scenario.name)
    if (scenario?.server !== 'kms' && scenario?.server !== 'auth') throw new Error('no such scenario')
    const pid = warder.pid(scenario.server)
    if (pinning !== undefined) pin(pid, pinning.servers)
    const withTwo: Target = { scenario, pid, caFile: warder.caFile }
    await drive(load, withTwo, { ...options, warmupSeconds: 3 })
    const ratios: number[] = []
    for (let round = 0; round < rounds; round += 1) {
      const one = await drive(load, withOne, options)
      const two = await drive(load, withTwo, options)
      ratios.push(two.cpuSeconds / two.requests / (one.cpuSeconds / one.requests))
    }
    return median(ratios)
  } finally {
    kms.close()
    await warder.stop()
  }
}
