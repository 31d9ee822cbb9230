import { texts } from '../texts.ts'

/** Where data will be. */
export function Skeleton() {
  return (
    <div className="skeleton" role="status">
      <span className="hidden">{texts.frame.loading}</span>
      <div />
      <div />
      <div />
    </div>
  )
}
