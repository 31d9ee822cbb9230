import { type ReactNode, useState } from 'react'
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { describeError } from '../frame/errors.tsx'
import { texts } from '../texts.ts'

/** A button for a step that cannot be undone, and the dialog that names what it does and what it breaks. */
export function Confirm(props: {
  /** What the button does: a verb. */
  readonly verb: string
  /** Names the object: `Destroy key orders`. */
  readonly title: string
  /** What ends, and what breaks: grants, dependants, approvals. */
  readonly children: ReactNode
  readonly onConfirm: () => Promise<unknown>
}) {
  const { verb, title, children, onConfirm } = props
  const [isOpen, setIsOpen] = useState(false)
  const [isPending, setIsPending] = useState(false)
  const [error, setError] = useState<unknown>()
  const run = async (): Promise<void> => {
    setIsPending(true)
    setError(undefined)
    try {
      await onConfirm()
      setIsOpen(false)
    } catch (thrown) {
      setError(thrown)
    } finally {
      setIsPending(false)
    }
  }
  return (
    <>
      <button type="button" className="button danger" onClick={() => setIsOpen(true)}>
        {verb}
      </button>
      <ModalOverlay className="overlay" isOpen={isOpen} onOpenChange={setIsOpen} isDismissable={!isPending}>
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
              <button type="button" className="button" disabled={isPending} onClick={() => setIsOpen(false)}>
                {texts.parts.cancel}
              </button>
            </div>
          </Dialog>
        </Modal>
      </ModalOverlay>
    </>
  )
}
