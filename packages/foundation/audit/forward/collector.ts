import { readFileSync } from 'node:fs'
import type { Outbound } from '../../outbound/types.ts'
import type { ForwardTarget } from './target.ts'

export interface CollectorOptions {
  readonly url: string
  /** Its content goes along as a bearer token; read again for each request, so that it can be replaced. */
  readonly tokenFile: string | undefined
  readonly outbound: Outbound
}

/** Posts records as lines of JSON; an answer of 2xx has taken all of them. */
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
      if (status < 200 || status > 299) throw new Error(`the collector answered ${status}`)
    },
    close() {},
  }
}
