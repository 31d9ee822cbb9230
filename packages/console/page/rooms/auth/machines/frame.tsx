import { ClientError } from '@warder/client/browser'
import type { ReactNode } from 'react'
import { RoomHeader } from '../../../frame/room-header.tsx'
import { Link } from '../../../parts/link.tsx'
import { Refusal } from '../../../parts/refusal.tsx'
import { texts } from '../../../texts.ts'
import type { Kind } from './role.tsx'

const words = texts.machines

/** A role: its header, and why it cannot be shown. */
export function RoleFrame(props: {
  readonly kind: Kind
  readonly name: string
  readonly isValid: boolean
  readonly error: unknown
  readonly retry: () => void
  readonly children: ReactNode
}) {
  const { kind, name, isValid, error, retry, children } = props
  const isMissing = !isValid || (error instanceof ClientError && error.status === 404)
  return (
    <>
      <RoomHeader title={words.roleTitle(words.kindNames[kind], name)} />
      <p>
        <Link to="/ui/machines">{words.toList}</Link>
      </p>
      {isMissing ? (
        <p className="notice danger" role="alert">
          <bdi>{words.missing(name)}</bdi>
        </p>
      ) : error !== null ? (
        <Refusal error={error} retry={retry} needs={words.needsRealm} />
      ) : (
        children
      )}
    </>
  )
}
