import { readFileSync } from 'node:fs'
import type { Scenario } from '../scenarios.ts'
import { measureCost } from '../server/cost.ts'
import type { LoadClient } from './client.ts'
import { requestBytes } from './connection.ts'
import type { LoadPlan } from './generator.ts'

/** A scenario and the process that answers it. */
export interface Target {
  readonly scenario: Scenario
  readonly pid: number
  readonly caFile: string
}

export interface DriveOptions {
  readonly seconds: number
  readonly warmupSeconds: number
  /** Default for scenarios without their own value. */
  readonly connections: number
  /** Requests a second; absent: as many as are answered. */
  readonly ratePerSecond?: number
}

/** Measurements of one drive. */
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
  let before = measureCost([pid])
  let after = before
  const result = await load.run(
    {
      ...buildRequest(scenario, readFileSync(caFile, 'utf8')),
      connections: scenario.connections ?? options.connections,
      seconds: options.seconds,
      warmupSeconds: options.warmupSeconds,
      ratePerSecond: options.ratePerSecond,
    },
    (moment) => {
      if (moment === 'start') before = measureCost([pid])
      else after = measureCost([pid])
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

function buildRequest(
  scenario: Scenario,
  ca: string,
): Pick<LoadPlan, 'place' | 'protocol' | 'requests' | 'expect'> {
  const url = new URL(scenario.url)
  const place = { host: '127.0.0.1', port: Number(url.port), ca, identity: scenario.identity }
  const { status } = scenario.expect
  if (scenario.method === 'KMIP') {
    const includes = Buffer.from(scenario.expect.includes, 'hex').toString('base64')
    return { place, protocol: 'kmip', requests: [scenario.body ?? ''], expect: { status, includes } }
  }
  const host = `localhost:${url.port}`
  const requests = (scenario.bodies ?? [scenario.body]).map((body) =>
    requestBytes(scenario.method, url.pathname + url.search, host, scenario.headers, body).toString('base64'),
  )
  const includes = Buffer.from(scenario.expect.includes).toString('base64')
  return { place, protocol: 'http', requests, expect: { status, includes } }
}
