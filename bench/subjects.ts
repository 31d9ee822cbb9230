import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Installation, startInstallation, temporaryHome } from 'warder/testing'
import { startClouds } from './external/scenarios.ts'
import { prepareKmipScenarios } from './kmip/scenarios.ts'
import { type LoadClient, startLoadClient } from './load/client.ts'
import type { Target } from './load/drive.ts'
import { preparePkiScenarios } from './pki/scenarios.ts'
import { prepareScenarios, rememberedTokens, type Scenario } from './scenarios.ts'
import { startEcho } from './server/echo-process.ts'
import { type Pinning, pin, pinning } from './server/pin.ts'

/** Everything that is measured, started and ready. */
export interface Subjects {
  readonly load: LoadClient
  /** The bare echo over HTTPS: the limit of scenarios that name no other. */
  readonly echo: Scenario
  readonly scenarios: readonly Scenario[]
  readonly pinned: Pinning | undefined
  targetOf(scenario: Scenario): Target
  /** Runs a client in this process, on the core of the clients. */
  ofClient<T>(run: (warder: Installation) => Promise<T>): Promise<T>
  stop(): Promise<void>
}

/**
 * Starts the load generator, the bare echoes and a whole Warder with one worker for each service.
 * @param auditIndex false: the kms cannot write an index of its audit log
 */
export async function startSubjects({ auditIndex = true } = {}): Promise<Subjects> {
  const stops: (() => unknown)[] = []
  const stop = async (): Promise<void> => {
    for (const each of stops.reverse()) await each()
  }
  try {
    const load = startLoadClient()
    stops.push(() => load.close())
    const home = temporaryHome()
    stops.push(() => rmSync(home, { recursive: true, force: true }))
    // A folder in its place. The service tries again each minute.
    if (!auditIndex)
      mkdirSync(join(home, 'audit', 'kms', 'index.db', 'none'), { recursive: true, mode: 0o700 })
    const clouds = await startClouds(home)
    stops.push(() => clouds.close())
    const warder = await startInstallation({
      home,
      env: {
        ...clouds.env,
        AUTH_WORKERS: '1',
        KMS_WORKERS: '1',
        KMS_TRANSIT_ENABLED: 'true',
        KMS_CLIENTS_CA_CERT_FILE: 'tls/ca.crt',
        // Each request is for one caller, who sends requests as fast as possible.
        KMS_OCSP_MAX_SIGNATURES_PER_SECOND: '1000000',
        KMS_UNWRAPPED_CACHE_MAX_SIZE: String(rememberedTokens),
      },
    })
    stops.push(() => warder.stop())
    const httpsEcho = await startEcho(warder.home)
    stops.push(() => httpsEcho.stop())
    const frameEcho = await startEcho(warder.home, 'frame-echo')
    stops.push(() => frameEcho.stop())
    const pids = {
      echo: httpsEcho.pid,
      'frame echo': frameEcho.pid,
      kms: warder.pid('kms'),
      auth: warder.pid('auth'),
    }
    const pinned = pinning()
    if (pinned !== undefined) {
      pin(load.pid, pinned.load)
      // This process too: it measures bare node:crypto, on the core of those that are compared with it.
      for (const pid of [...Object.values(pids), process.pid]) pin(pid, pinned.servers)
    }
    const kms = warder.client('kms')
    stops.push(() => kms.close())
    const [echo, ...rest] = await prepareScenarios(warder, kms, httpsEcho.url)
    if (echo === undefined) throw new Error('no scenario')
    const pki = await preparePkiScenarios(warder, kms)
    const kmip = await prepareKmipScenarios(warder, { httpsUrl: httpsEcho.url, frameUrl: frameEcho.url })
    const external = await clouds.scenarios(warder, kms, httpsEcho.url)
    return {
      load,
      echo,
      scenarios: [...rest, ...pki, ...external, ...kmip],
      pinned,
      async ofClient(run) {
        if (pinned === undefined) return run(warder)
        pin(process.pid, pinned.load)
        try {
          return await run(warder)
        } finally {
          pin(process.pid, pinned.servers)
        }
      },
      targetOf: (scenario) => ({ scenario, pid: pids[scenario.server], caFile: warder.caFile }),
      stop,
    }
  } catch (thrown) {
    await stop()
    throw thrown
  }
}
