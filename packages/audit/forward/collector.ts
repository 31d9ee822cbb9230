import { readFileSync } from 'node:fs'
import type { Outbound } from '@warder/outbound'
import type { ForwardTarget } from './forwarder.ts'

export interface CollectorOptions {
  readonly url: string
  /** Holds the bearer token; read for each request, so that it can be replaced. */
  readonly tokenFile: string | undefined
  readonly outbound: Outbound
}

/** Posts records as lines of JSON; a 2xx response accepts all of them. */
export function createCollectorTarget({ url, tokenFile, outbound }: CollectorOptions): ForwardTarget {
  return {
    name: 'collector',
    async send(records) {
      const body = Buffer.from(records.map(({ line }) => `${line}\n`).join(''))
      const token = tokenFile === undefined ? undefined : readFileSync(tokenFile, 'utf8').trim()
      const { status } = await outbound.post(url, body, {
        headers: {
          'content-type': 'application/x-ndjson',
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
        },
      })
      if (status < 200 || status > 299) throw new Error(`the collector responded with status ${status}`)
    },
    close() {},
  }
}
