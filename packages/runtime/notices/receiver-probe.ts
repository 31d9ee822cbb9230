import { randomUUID } from 'node:crypto'
import type { Clock } from '@warder/base'
import Type from 'typebox'
import { type NoticeSink, noticeSinks } from '../config/notice-settings.ts'
import { commonNoticeEvents } from './notices.ts'
import { NotDelivered, type NoticeReceiver } from './receivers.ts'

const Sink = Type.Union([Type.Literal('webhook'), Type.Literal('email')])

export const NoticeTestRequest = Type.Object({
  to: Type.Optional(Type.Union([...Sink.anyOf], { description: 'Only this receiver; absent: all.' })),
})
export const NoticeTestReply = Type.Object({
  receivers: Type.Array(
    Type.Object({
      to: Sink,
      outcome: Type.Union([
        Type.Literal('delivered'),
        Type.Literal('failed'),
        Type.Literal('not_configured'),
      ]),
      reply: Type.String({ description: 'The reply of the receiver, or the reason why there was none.' }),
    }),
  ),
})

/** Result of a test notice for one receiver. */
export interface NoticeTestResult {
  readonly to: NoticeSink
  readonly outcome: 'delivered' | 'failed' | 'not_configured'
  /** The reply of the receiver, or the reason why there was none. */
  readonly reply: string
}

/** Sends a notice `notices.test` to each receiver at once, past the spool. @param to undefined: all receivers */
export async function testReceivers(
  receivers: readonly NoticeReceiver[],
  { to, by, clock }: { readonly to: NoticeSink | undefined; readonly by: string; readonly clock: Clock },
): Promise<readonly NoticeTestResult[]> {
  const event = 'notices.test'
  const { severity = 'info', text = event } = commonNoticeEvents[event] ?? {}
  const notice = {
    id: randomUUID(),
    ...{ event, severity, text },
    body: JSON.stringify({ event, at: new Date(clock.now()).toISOString(), by }),
  }
  return Promise.all(
    noticeSinks
      .filter((sink) => to === undefined || sink === to)
      .map(async (sink): Promise<NoticeTestResult> => {
        const receiver = receivers.find((one) => one.sink === sink)
        if (receiver === undefined)
          return { to: sink, outcome: 'not_configured', reply: 'The settings name no such receiver.' }
        try {
          return { to: sink, outcome: 'delivered', reply: await receiver.deliver([notice]) }
        } catch (error) {
          if (!(error instanceof NotDelivered)) throw error
          return { to: sink, outcome: 'failed', reply: error.message }
        }
      }),
  )
}
