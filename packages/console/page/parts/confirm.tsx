import { type ReactNode, useState } from 'react'
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { texts } from '../texts.ts'
import { describeError } from './errors.tsx'

/** A button for a step that cannot be undone, and the dialog that names what it does and what it breaks. */
export function Confirm(props: Omit<DialogProps, 'isOpen' | 'onClose'>) {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <>
      <button type="button" className="button danger" onClick={() => setIsOpen(true)}>
        {props.verb}
      </button>
      <ConfirmDialog {...props} isOpen={isOpen} onClose={() => setIsOpen(false)} />
    </>
  )
}

interface DialogProps {
  readonly isOpen: boolean
  readonly onClose: () => void
  /** What the button does: a verb. */
  readonly verb: string
  /** Names the object: `Destroy key orders`. */
  readonly title: string
  /** What ends, and what breaks: grants, dependants, approvals. */
  readonly children: ReactNode
  readonly onConfirm: () => Promise<unknown>
}

/** The dialog alone, for a form that leads to a step that cannot be undone. */
export function ConfirmDialog(props: DialogProps) {
  const { isOpen, onClose, verb, title, children, onConfirm } = props
  const [isPending, setIsPending] = useState(false)
  const [error, setError] = useState<unknown>()
  const close = (): void => {
    setError(undefined)
    onClose()
  }
  const run = async (): Promise<void> => {
    setIsPending(true)
    setError(undefined)
    try {
      await onConfirm()
      onClose()
    } catch (thrown) {
      setError(thrown)
    } finally {
      setIsPending(false)
    }
  }
  return (
    <ModalOverlay
      className="overlay"
      isOpen={isOpen}
      onOpenChange={(next) => next || close()}
      isDismissable={!isPending}
    >
      <Modal className="modal">
        <Dialog role="alertdialog" className="dialog">
          <Heading slot="title">{title}</Heading>
          {children}
          {error !== undefined && (
            <p className="notice danger" role="alert">
              {describeError(error)}
            </p>
          )}
          <div className="actions">
            <button type="button" className="button danger" disabled={isPending} onClick={() => void run()}>
              {verb}
            </button>
            <button type="button" className="button" disabled={isPending} onClick={close}>
              {texts.parts.cancel}
            </button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
