import type { MouseEvent, ReactNode } from 'react'
import { navigate } from './router.ts'

/** A link to a room: without a reload, unless the user wants a new tab. */
export function Link(props: {
  readonly to: string
  readonly children: ReactNode
  readonly className?: string
  readonly isCurrent?: boolean
}) {
  const { to, children, className, isCurrent = false } = props
  const follow = (event: MouseEvent): void => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    navigate(to)
  }
  return (
    <a href={to} className={className} onClick={follow} aria-current={isCurrent ? 'page' : undefined}>
      {children}
    </a>
  )
}
