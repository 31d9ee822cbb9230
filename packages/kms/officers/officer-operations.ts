import { governor, requirePrincipal } from '@warder/keys'
import { NoticeTestReply, NoticeTestRequest, testReceivers } from '@warder/runtime'
import { type Operation, post } from '@warder/server'
import { approvalOperations } from './approvals.ts'
import { activate, begin, disable, latest, status } from './ceremony.ts'
import { define, type OfficerServices } from './services.ts'

const testNotices = define({
  name: 'notices.test',
  reach: [],
  route: post('/v1/notices/test'),
  summary: 'Send a test notice to the webhook and by e-mail, at once',
  description: 'The reply contains the reply of each receiver.',
  tag: 'Notices',
  access: governor,
  request: NoticeTestRequest,
  reply: NoticeTestReply,
  errors: { 403: 'Only crypto officers, or the default user if no officers are configured.' },
  async act({ body: { to } }, context) {
    const { receivers, clock } = context.services
    const results = await testReceivers(receivers, { to, by: requirePrincipal(context).name, clock })
    context.audit({ details: Object.fromEntries(results.map((result) => [result.to, result.outcome])) })
    return { receivers: [...results] }
  },
})

/** Operations of crypto officers about one another. */
export const officerOperations: readonly Operation<OfficerServices>[] = [
  status,
  latest,
  begin,
  activate,
  disable,
  ...approvalOperations,
  testNotices,
]
