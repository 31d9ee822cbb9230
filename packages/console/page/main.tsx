import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { queryClient } from './api.ts'
import { Frame } from './frame/frame.tsx'
import { applyTheme, readTheme } from './frame/theme.ts'
import { rooms } from './rooms.ts'
import './style.css'

applyTheme(readTheme())
// A page that the browser kept, of a session that has ended since.
window.addEventListener('pageshow', ({ persisted }) => {
  if (persisted) void queryClient.invalidateQueries()
})
const place = document.getElementById('page')
if (place !== null)
  createRoot(place).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <Frame rooms={rooms} />
      </QueryClientProvider>
    </StrictMode>,
  )
