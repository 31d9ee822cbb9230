import { governor, requirePrincipal } from '@warder/keys'
import { testReceivers } from '@warder/runtime'
import { post } from '@warder/server'
import Type from 'typebox'
import { define } from './services.ts'

const Sink = Type.Union([Type.Literal('webhook'), Type.Literal('email')])

export const testNotices = define({
  name: 'notices.test',
  reach: [],
  route: post('/v1/notices/test'),
  summary: 'Send a test notice to the webhook and by e-mail, at once',
  description: 'The reply has what each receiver replied.',
  tag: 'Notices',
  access: governor,
  request: Type.Object({
    to: Type.Optional(Type.Union([...Sink.anyOf], { description: 'Only this receiver; absent: all.' })),
  }),
  reply: Type.Object({
    receivers: Type.Array(
      Type.Object({
        to: Sink,
        outcome: Type.Union([
          Type.Literal('delivered'),
          Type.Literal('failed'),
          Type.Literal('not_configured'),
        ]),
        reply: Type.String({ description: 'What the receiver replied, or why there was no reply.' }),
      }),
    ),
  }),
  errors: { 403: 'Only crypto officers, or the default user if no officers are configured.' },
  async act({ body: { to } }, context) {
    const { receivers, clock } = context.services
    const results = await testReceivers(receivers, { to, by: requirePrincipal(context).name, clock })
    context.audit({ details: Object.fromEntries(results.map((result) => [result.to, result.outcome])) })
    return { receivers: [...results] }
  },
})
