import { kms } from '../../../api.ts'
import { Confirm } from '../../../parts/confirm.tsx'
import { showToast } from '../../../parts/toasts.tsx'
import { texts } from '../../../texts.ts'

const words = texts.blocked

/** Blocks a user, after the dialog has named what ends. */
export function Block({ user, reason = '' }: { readonly user: string; readonly reason?: string }) {
  const { mutateAsync } = kms.useAct('access.block')
  const block = async (): Promise<void> => {
    await mutateAsync({ body: { user_id: user, ...(reason !== '' && { reason }) } })
    showToast(words.done(user))
  }
  return (
    <Confirm verb={words.blockNow} title={words.blockTitle(user)} onConfirm={block}>
      <p>{words.blockHelp(user)}</p>
      <Holdings user={user} />
    </Confirm>
  )
}

/** How much depends on the user, as far as the caller may see it. */
function Holdings({ user }: { readonly user: string }) {
  const { data } = kms.useOperation('access.holdings', { query: { user_id: user } })
  return data === undefined ? null : <p>{words.holds(data.owned, data.granted)}</p>
}

export function Unblock({ user }: { readonly user: string }) {
  const { mutateAsync } = kms.useAct('access.unblock')
  const unblock = async (): Promise<void> => {
    await mutateAsync({ body: { user_id: user } })
    showToast(words.undone(user))
  }
  return (
    <Confirm verb={words.unblock} title={words.unblockTitle(user)} onConfirm={unblock}>
      <p>{words.unblockHelp(user)}</p>
    </Confirm>
  )
}
