import { readFileSync } from 'node:fs'
import type { Scenario } from '../scenarios.ts'
import { costOf } from '../server/cost.ts'
import type { LoadClient } from './client.ts'

/** A scenario and the process that answers it. */
export interface Target {
  readonly scenario: Scenario
  readonly pid: number
  readonly caFile: string
}

export interface DriveOptions {
  readonly seconds: number
  readonly warmupSeconds: number
  /** Of scenarios that do not say it themselves. */
  readonly connections: number
}

/** What one drive measured. */
export interface Driven {
  readonly name: string
  readonly requests: number
  /** Processor time that the server's process used, all of its threads together. */
  readonly cpuSeconds: number
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly residentMiB: number
}

/** Sends one scenario's request over and over, and checks each answer. @throws when one is wrong */
export async function drive(load: LoadClient, target: Target, options: DriveOptions): Promise<Driven> {
  const { scenario, pid, caFile } = target
  const url = new URL(scenario.url)
  let before = costOf([pid])
  let after = before
  const result = await load.run(
    {
      host: '127.0.0.1',
      port: Number(url.port),
      ca: readFileSync(caFile, 'utf8'),
      method: scenario.method,
      path: url.pathname + url.search,
      headers: scenario.headers,
      body: scenario.body,
      connections: scenario.connections ?? options.connections,
      seconds: options.seconds,
      warmupSeconds: options.warmupSeconds,
      expect: scenario.expect,
    },
    (moment) => {
      if (moment === 'start') before = costOf([pid])
      else after = costOf([pid])
    },
  )
  if (result.wrong > 0)
    throw new Error(`${scenario.name}: ${result.wrong} wrong answers, first ${result.firstWrong}`)
  return {
    name: scenario.name,
    requests: result.requests,
    cpuSeconds: after.cpuSeconds - before.cpuSeconds,
    seconds: result.seconds,
    p50Ms: result.p50Ms,
    p99Ms: result.p99Ms,
    residentMiB: after.residentMiB,
  }
}
