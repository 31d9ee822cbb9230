import { ClientError } from '@warder/client/browser'
import { texts } from '../texts.ts'
import { CommandCode } from './act-form.tsx'
import { Failure } from './errors.tsx'

/** A failed call. A missing right is named, with who can grant it. */
export function Refusal(props: {
  readonly error: unknown
  readonly retry?: () => void
  /** The right that is missing, and the command that grants it. */
  readonly needs: string
  readonly command?: string
}) {
  const { error, retry, needs, command } = props
  if (!(error instanceof ClientError) || error.status !== 403)
    return <Failure error={error} {...(retry !== undefined && { retry })} />
  return (
    <div className="notice danger" role="alert">
      <strong>{texts.errors.refused}</strong>
      <p>{needs}</p>
      {command !== undefined && <CommandCode command={command} />}
    </div>
  )
}
