import type { Clock } from '@warder/base'
import {
  createNotices,
  type NoticeDefinition,
  type NoticeReceiver,
  type Notices,
  NoticeTestReply,
  NoticeTestRequest,
  type ServiceEnvironment,
  testReceivers,
} from '@warder/runtime'
import { defineOperation, post } from '@warder/server'
import { requireSession, superAdmin } from './callers.ts'
import type { AuthConfig } from './settings.ts'

export const authNotices: NoticeDefinition<AuthConfig> = {
  events: {
    'login.failed': {
      kind: 'login.failed',
      severity: 'warning',
      text: 'a login of an administrator failed',
    },
  },
  webhookSettings: 'notice_webhook_url',
  webhook({ notice_webhook_url: url, notice_webhook_secret: secret }) {
    return url === undefined || secret === undefined ? undefined : { url, secret }
  },
}

/** @returns undefined if the settings name no receiver */
export function getNotices(
  environment: Pick<ServiceEnvironment<AuthConfig>, 'config' | 'db' | 'clock' | 'log' | 'metrics'>,
): Notices | undefined {
  return createNotices({ ...environment, definition: authNotices })
}

const define = defineOperation<{ readonly receivers: readonly NoticeReceiver[]; readonly clock: Clock }>()

export const testNotices = define({
  name: 'notices.test',
  reach: [],
  route: post('/notices/test'),
  summary: 'Send a test notice to the webhook and by e-mail, at once',
  description: 'The reply contains the reply of each receiver.',
  tag: 'Notices',
  access: superAdmin,
  request: NoticeTestRequest,
  reply: NoticeTestReply,
  async act({ body: { to } }, context) {
    const { receivers, clock } = context.services
    const { username } = requireSession(context).session
    const results = await testReceivers(receivers, { to, by: username, clock })
    context.audit({ details: Object.fromEntries(results.map((result) => [result.to, result.outcome])) })
    return { receivers: [...results] }
  },
})
