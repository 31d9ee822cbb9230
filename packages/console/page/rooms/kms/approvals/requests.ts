import type { Reply } from '@warder/client/browser'
import { useEffect } from 'react'
import { kms } from '../../../api.ts'
import { texts } from '../../../texts.ts'

const words = texts.approvals

export type ApprovalRequest = Reply<'access.approvals.get'>

export const stateKinds: Readonly<Record<string, 'good' | 'warning' | 'danger' | 'neutral'>> = {
  ...{ open: 'warning', approved: 'good', done: 'good', refused: 'danger' },
}

export const formatState = (state: string): string =>
  (words.states as Readonly<Record<string, string>>)[state] ?? state

/** Whether it can still be decided, used or withdrawn. */
export const isRunning = ({ state }: ApprovalRequest): boolean => state === 'open' || state === 'approved'

/** Operations on one key; their object is its id. */
export const isOnKey = ({ operation }: ApprovalRequest): boolean =>
  operation === 'destroy' || operation === 'export' || operation === 'grant'

/** The object without its name; a digest says nothing to people. */
export function formatObject({ operation, key }: ApprovalRequest): string {
  if (operation === 'settings' || operation === 'root_key' || operation === 'restore_backup')
    return words.installation
  return key
}

export const formatRequester = ({ requester }: ApprovalRequest): string =>
  requester === '.' ? words.aStart : requester

/** One line that names the operation and its object. */
export const formatRequest = (request: ApprovalRequest): string =>
  `${words.operations[request.operation]}: ${formatObject(request)}`

const maxPages = 20

/** All requests that the user may see; the service keeps them for 30 days. */
export function useRequests() {
  const pages = kms.usePages('access.approvals.list', { query: { limit: '1000' } }, (rows) => rows)
  const { hasNextPage, isFetchingNextPage, fetchNextPage, data } = pages
  const loaded = data?.pages.length ?? 0
  const isComplete = !hasNextPage || loaded >= maxPages
  useEffect(() => {
    if (!isComplete && !isFetchingNextPage) void fetchNextPage()
  }, [isComplete, isFetchingNextPage, fetchNextPage])
  return { ...pages, rows: isComplete ? pages.rows : undefined }
}
