import {
  createNotices,
  type NoticeDefinition,
  type NoticeEvents,
  type Notices,
  type ServiceEnvironment,
} from '@warder/runtime'
import type { KmsConfig } from './settings.ts'

/** Events that the kms announces. `byDefault`: those that the webhook gets unless `notices` selects others. */
const events: NoticeEvents = {
  'approval.asked': {
    kind: 'approval.asked',
    severity: 'info',
    text: 'an operation waits for the approval of crypto officers',
    byDefault: true,
  },
  'approval.approved': {
    kind: 'approval.given',
    severity: 'info',
    text: 'a crypto officer approved an operation',
    byDefault: true,
  },
  'approval.refused': {
    kind: 'approval.given',
    severity: 'info',
    text: 'a crypto officer refused an operation',
    byDefault: true,
  },
  'approval.withdrawn': {
    kind: 'approval.given',
    severity: 'info',
    text: 'a request for approval was withdrawn',
    byDefault: true,
  },
  credential_set: {
    kind: 'officer.credential',
    severity: 'warning',
    text: 'an administrator set a credential of a crypto officer',
    byDefault: true,
  },
  'rotation.soon': {
    kind: 'key.rotation',
    severity: 'info',
    text: 'a key will be rotated soon',
    byDefault: true,
  },
  'rotation.done': { kind: 'key.rotation', severity: 'info', text: 'a key was rotated', byDefault: true },
  'rotation.failed': {
    kind: 'key.rotation',
    severity: 'warning',
    text: 'a key cannot be rotated by its schedule',
    byDefault: true,
  },
  'budget.ending': {
    kind: 'key.budget',
    severity: 'warning',
    text: 'a key will stop encrypting soon',
    byDefault: true,
  },
  'key.ending': { kind: 'key.ending', severity: 'warning', text: 'keys will reach their deactivation date' },
  'certificate.ending': {
    kind: 'certificate.ending',
    severity: 'warning',
    text: 'certificates will expire',
  },
  block: { kind: 'block', severity: 'warning', text: 'a user was blocked' },
  'block.lifted': { kind: 'block', severity: 'info', text: 'a user is no longer blocked' },
  'destruction.waits': {
    kind: 'key.destruction',
    severity: 'warning',
    text: 'the destruction of a key is pending',
    byDefault: true,
  },
  'destruction.near': {
    kind: 'key.destruction',
    severity: 'warning',
    text: 'a key will be destroyed soon',
    byDefault: true,
  },
  'destruction.carried_out': {
    kind: 'key.destruction',
    severity: 'warning',
    text: 'a key was destroyed after its delay',
    byDefault: true,
  },
  'destruction.taken_back': {
    kind: 'key.destruction',
    severity: 'info',
    text: 'the destruction of a key was cancelled',
    byDefault: true,
  },
}

export const kmsNotices: NoticeDefinition<KmsConfig> = {
  events,
  webhookSettings: 'approvals.webhook_url',
  webhook({ 'approvals.webhook_url': url, 'approvals.webhook_secret': secret }) {
    return url === undefined || secret === undefined ? undefined : { url, secret }
  },
}

/** @returns undefined if the settings name no receiver */
export function getNotices(
  environment: Pick<ServiceEnvironment<KmsConfig>, 'config' | 'db' | 'clock' | 'log' | 'metrics'>,
): Notices | undefined {
  return createNotices({ ...environment, definition: kmsNotices })
}
