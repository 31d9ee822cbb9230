import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { CopyButton, saveText } from '../../../parts/copy.tsx'
import { texts } from '../../../texts.ts'

const words = texts.recovery

interface CodesProps {
  readonly username: string
  readonly codes: readonly string[]
  readonly onStored: () => void
}

/** New codes, and what to do with them. */
export function RecoveryCodes({ username, codes, onStored }: CodesProps) {
  return (
    <>
      <p>{words.shownHelp}</p>
      <ol className="codes">
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ol>
      <div className="actions">
        <CopyButton text={codes.join('\n')} label={words.copy} />
        <button
          type="button"
          className="button"
          onClick={() => saveText('warder-recovery-codes.txt', words.file(username, codes))}
        >
          {words.download}
        </button>
        <button type="button" className="button primary" onClick={onStored}>
          {words.stored}
        </button>
      </div>
    </>
  )
}

/** The codes in a dialog that closes only when the user has stored them. */
export function RecoveryCodesDialog(props: CodesProps) {
  return (
    <ModalOverlay className="overlay" isOpen isKeyboardDismissDisabled>
      <Modal className="modal">
        <Dialog className="dialog">
          <Heading slot="title">{words.shown}</Heading>
          <RecoveryCodes {...props} />
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
