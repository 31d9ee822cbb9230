import { useMutation } from '@tanstack/react-query'
import { type AuthReply, ClientError } from '@warder/client/browser'
import { createContext, type ReactNode, useContext, useState } from 'react'
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { queryClient } from '../../../api.ts'
import { texts } from '../../../texts.ts'
import { describePasskeyError } from '../passkey.ts'
import { LogInAgain } from './log-in-again.tsx'

export type Account = AuthReply<'account.get'>

/** The user does not want to log in again, so that nothing has changed. */
class Cancelled extends Error {}

interface Shared {
  readonly account: Account
  /** Runs an act that needs a recent login; asks for one where the service wants it, and continues. */
  run<Result>(act: () => Promise<Result>): Promise<Result>
}

const AccountContext = createContext<Shared | undefined>(undefined)

export function useAccount(): Shared {
  const shared = useContext(AccountContext)
  if (shared === undefined) throw new Error('outside of AccountProvider')
  return shared
}

/** Waits for the dialog of a new login. */
interface Waiting {
  readonly proceed: () => void
  readonly cancel: () => void
}

/** Gives the account to parts of a room, and asks for a new login where one of them needs it. */
export function AccountProvider({
  account,
  children,
}: {
  readonly account: Account
  readonly children: ReactNode
}) {
  const [waiting, setWaiting] = useState<Waiting>()
  const run = async <Result,>(act: () => Promise<Result>): Promise<Result> => {
    try {
      return await act()
    } catch (error) {
      // Acts of one's own account are forbidden for one reason: the login is too old.
      if (!(error instanceof ClientError && error.status === 403)) throw error
    }
    await new Promise<void>((resolve, reject) =>
      setWaiting({ proceed: resolve, cancel: () => reject(new Cancelled()) }),
    )
    return act()
  }
  const close = (end: keyof Waiting) => (): void => {
    setWaiting(undefined)
    waiting?.[end]()
  }
  return (
    <AccountContext value={{ account, run }}>
      {children}
      <ModalOverlay
        className="overlay"
        isOpen={waiting !== undefined}
        onOpenChange={close('cancel')}
        isDismissable
      >
        <Modal className="modal">
          <Dialog className="dialog">
            <Heading slot="title">{texts.logInAgain.title}</Heading>
            <p>{texts.logInAgain.help}</p>
            <LogInAgain account={account} onDone={close('proceed')} />
            <button type="button" className="button" onClick={close('cancel')}>
              {texts.parts.cancel}
            </button>
          </Dialog>
        </Modal>
      </ModalOverlay>
    </AccountContext>
  )
}

/**
 * An act on the own account, with a recent login. Its result is not kept: it may be a secret.
 * @param act gives what it got to the room
 */
export function useAccountAct<Input = void>(act: (input: Input) => Promise<void>) {
  const { run } = useAccount()
  const mutation = useMutation({
    gcTime: 0,
    mutationFn: (input: Input) => run(() => act(input)),
    onSuccess: () => queryClient.invalidateQueries(),
  })
  const { error } = mutation
  return { ...mutation, problem: error instanceof Cancelled ? null : describePasskeyError(error) }
}
