import { type ReactNode, useEffect, useRef } from 'react'
import { isNavigated } from '../parts/router.ts'
import { texts } from '../texts.ts'

/** The one h1 of a room. Names the document, and takes the focus when a user comes from another room. */
export function RoomHeader(props: {
  readonly title: string
  readonly children?: ReactNode
  /** Buttons. */
  readonly actions?: ReactNode
}) {
  const { title, children, actions } = props
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} – ${texts.product}`
  }, [title])
  useEffect(() => {
    if (isNavigated()) heading.current?.focus()
  }, [])
  return (
    <header className="room-header">
      <div>
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {children !== undefined && <p className="quiet">{children}</p>}
      </div>
      {actions !== undefined && <div className="actions">{actions}</div>}
    </header>
  )
}
