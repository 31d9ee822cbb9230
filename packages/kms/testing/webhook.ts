import type { StartOptions } from './start.ts'

/** A notice that a receiver got. */
export interface Notice {
  readonly event: string
  readonly key: string
  readonly [member: string]: unknown
}

/** A receiver that takes every notice, and the settings that name it. */
export function webhookReceiver() {
  const told: Notice[] = []
  const outbound = {
    async post(_url: string, body: Uint8Array) {
      told.push(JSON.parse(Buffer.from(body).toString()))
      return { status: 200, headers: {}, body: new Uint8Array() }
    },
  } as unknown as NonNullable<StartOptions['outbound']>
  const config = {
    'approvals.webhook_url': 'https://receiver.example/',
    'approvals.webhook_secret': 'a secret of more than thirty-two characters',
  }
  return { told, outbound, config }
}
